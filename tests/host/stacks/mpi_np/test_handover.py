"""One process follows another in a rank's place on its NIC."""

from lanai_host.stacks.mpi_np.handover import take_over

from .np_calls import irecv, isend, pattern, recv, send, wait
from .np_world import World

MESSAGES = 40  # more than a rank has request slots


class Followed(World):
    """Rank 1 is two processes, one after the other."""

    def follow(self, first):
        first.hands_over = True
        first.close()
        if not first.handover:
            return None
        endpoint = first.endpoint
        kept = bytes(endpoint.copyblock.view)
        second = type(first)(first.bus, endpoint.attachment, endpoint.config, copyblock=endpoint.copyblock)
        endpoint.copyblock.view[:] = kept  # as the trusted side does
        take_over(second.endpoint, first.handover.decode())
        return second


def test_the_second_process_goes_on_where_the_first_one_stood():
    """With sends, inline and long, with receives, and with slots that the NIC had not given back."""
    world = Followed(2)

    def program(device):
        other = 1 - device.rank
        for process in range(3):
            if device.rank == 0:
                recv(device, 1, 0, tag=process)  # it is there: nothing may come before
            else:
                send(device, 0, b"", tag=process)
            for i in range(MESSAGES):
                body = pattern(8 if i % 3 else 9000, i)
                sent = isend(device, other, body, tag=process)
                assert recv(device, other, len(body), tag=process)[1] == body
                wait(device, sent)
            if device.rank == 1:
                device = world.follow(device)
        return device.endpoint.sequence

    assert world.run(program)[1] > MESSAGES


def test_slots_that_are_not_given_back_are_handed_over():
    world = Followed(2)

    def program(device):
        if device.rank == 0:
            recv(device, 1, 8, tag=1)
            return None
        wait(device, isend(device, 0, pattern(8), tag=1))
        second = world.follow(device)
        assert second.endpoint.used == device.endpoint.used
        assert second.endpoint.held == device.endpoint.held == {0: 1}
        return None

    world.run(program)


def test_after_a_message_that_no_receive_took_no_process_can_follow():
    """It could match a receive of the second process."""
    world = Followed(2)

    def program(device):
        if device.rank == 0:
            send(device, 1, pattern(8), tag=1)
            send(device, 1, pattern(8), tag=2)
            return None
        recv(device, 0, 8, tag=2)  # the other one has come before it
        device.hands_over = True
        device.close()
        return device.handover

    assert world.run(program)[1] == b""


def test_with_a_receive_under_way_no_process_can_follow():
    """The NIC could write to memory that is the first process's."""
    world = Followed(2)

    def program(device):
        if device.rank == 1:
            irecv(device, 0, 8)
            device.hands_over = True
            device.close()
            return device.handover
        return None

    assert world.run(program)[1] == b""


def test_only_who_may_be_followed_hands_over():
    world = World(1)
    world.run(lambda device: None)
    assert world.devices[0].handover == b""
