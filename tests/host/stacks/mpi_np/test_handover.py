"""One process follows another in a rank's place on its NIC."""

import re

import pytest

from lanai_firmware.native import NativeProgram
from lanai_firmware.nic.model import Nic
from lanai_firmware.programs.mpi_np.scheduler import turn
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.operation import ANY_SOURCE, ErrorKind
from lanai_host.stacks.mpi_np.device import take_over
from lanai_sim.kernel.kernel import Deadlock

from .. import sabotage
from .np_cluster import MILLISECOND, Ranks
from .np_world import STANDARD, SYNCHRONOUS, World, irecv, isend, pattern, recv, send, wait

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


# The MCP compiled for the host does to every byte of SRAM what it does as plain Python.


# Model NICs whose firmware is compiled for this machine: the same turns, sooner.


def take_native_turns(monkeypatch):
    """From now on every model NIC runs compiled firmware. The list that comes back names the NIC of
    each turn."""
    compiled, turns = {}, []

    def native_turn(nic):
        nic.wait = 0
        places = tuple(nic.machine.placed.items())
        if places not in compiled:
            compiled[places] = NativeProgram(turn, nic.machine.placed, speed=1)
        turns.append(nic)
        compiled[places].run(nic.machine)

    monkeypatch.setattr(Nic, "turn", native_turn)
    return turns


def exchange(device):
    """Both ways at once: short messages, a long one, some in reverse order."""
    other = 1 - device.rank
    sizes = [0, 12, 3000, 9000, 64]
    received = [irecv(device, other, size, tag=tag) for tag, size in reversed(list(enumerate(sizes)))]
    sent = [isend(device, other, pattern(size, tag + device.rank), tag=tag) for tag, size in enumerate(sizes)]
    wait(device, *sent, *received)
    for (operation, buffer), (tag, size) in zip(received, reversed(list(enumerate(sizes))), strict=True):
        assert operation.length == size
        assert buffer.data[:size] == pattern(size, tag + other)


def run_world():
    """Final SRAM of each NIC."""
    world = World(2)
    world.run(exchange)
    return [bytes(nic.machine.sram) for nic in world.fabric.nics]


@pytest.mark.ci
def test_native_mcp_is_the_python_mcp(monkeypatch):
    python = run_world()
    turns = take_native_turns(monkeypatch)
    native = run_world()
    assert len(turns) > 20
    for ours, theirs in zip(native, python, strict=True):
        differing = [index for index in range(len(ours)) if ours[index] != theirs[index]]
        assert not differing, [hex(index) for index in differing[:8]]


# A NIC that is reset, traps, stops or hangs while messages are under way: whatever waits ends with an error that says
# so, here and at the peers.


NEVER_TAG = 99  # of messages that no rank sends
UNDEFINED = 0xFFFFFFFF  # no instruction
PROTOCOLS = {
    "eager": (4, STANDARD, 12),
    "eager from host memory": (1500, STANDARD, 12),
    "rendezvous": (30_000, STANDARD, 4),
    "synchronous": (200, SYNCHRONOUS, 8),
}


def reset(bus, ranks):
    bus.write(host_offset("CONTROL"), int(Control.RESET))


def halt(bus, ranks):
    bus.write(host_offset("CONTROL"), 0)


def trap(bus, ranks):
    main = ranks.image.symbols["lanai_firmware.programs.mpi_np.main.main"]
    bus.write_block(SRAM_HOST + main.address, UNDEFINED.to_bytes(4, "big") * (main.size // 4))
    bus.write(host_offset("DOORBELL"), 1)


def hang(bus, ranks):
    sabotage.hang(bus, ranks.image)
    bus.write(host_offset("DOORBELL"), 1)


SEEN = {
    reset: "was reset: it has forgotten what it was booted for",
    halt: "was stopped: its processor is held in reset",
    trap: r"stopped: its processor trapped at 0x[0-9a-f]+ in .*\.py:\d+ \([\w.]+\): undefined instruction",
    hang: "is silent: for 2000 us its firmware neither looked at the doorbell nor moved anything",
}


def survivor(size, mode, count):
    """Rank 1, and rank 0 as well: messages both ways, then one that never comes; errors by kind,
    and whether all else was right."""

    def program(me):
        other = 1 - me.rank
        received = [me.receive(other, size, tag) for tag in range(count)]
        received += [me.receive(ANY_SOURCE, size, NEVER_TAG), me.receive(other, size, NEVER_TAG)]
        sent = [me.send(other, pattern(size, tag), tag, mode) for tag in range(count)]
        me.finish(*sent, *received)
        for tag, (operation, buffer) in enumerate(received[:count]):
            assert operation.error is not None or buffer.data == pattern(size, tag)
        late = [me.send(other, b"x", mode=mode), me.receive(other, 1), me.receive(ANY_SOURCE, 1)]
        me.finish(*late)
        errors = [operation.error for operation, _ in sent + received + late]
        assert all(error is not None for error in errors[-5:]), errors
        if me.rank == 1:
            alone = [me.receive(1, 4, 3), me.send(1, b"self", 3)]
            me.finish(*alone)
            assert (alone[0][0].error, alone[0][1].data) == (None, b"self")
        me.device._close()
        return {(error.kind, error.text) for error in errors if error is not None}

    return program


def lose(sabotage, protocol, delay):
    program = survivor(*PROTOCOLS[protocol])

    def saboteur(bus, ranks):
        bus.elapse(delay)
        sabotage(bus, ranks)

    return Ranks().run(program, program, saboteur=saboteur)


@pytest.mark.parametrize("delay", [3_000_000, 60_000_000, 400_000_000])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reset_ends_everything_with_an_error(protocol, delay):
    check(lose(reset, protocol, delay), SEEN[reset])


@pytest.mark.parametrize("sabotage", [halt, trap, hang])
@pytest.mark.parametrize("protocol", ["eager", "rendezvous"])
def test_so_do_other_ways_to_die(sabotage, protocol):
    check(lose(sabotage, protocol, 40_000_000), SEEN[sabotage])


def check(results, seen):
    (ours,), theirs = results
    assert ours[0] is ErrorKind.NIC_LOST
    assert re.search(f"the NIC of rank 0 {seen}.*start the job again", ours[1]), ours
    # The body of a packet that the NIC had begun when it failed is damaged: its receive has ended
    # before anyone was lost.
    assert {kind for kind, _ in theirs} <= {ErrorKind.PEER_FAILED, ErrorKind.DAMAGED}
    assert {text for kind, text in theirs if kind is ErrorKind.PEER_FAILED} == {ours[1]}


def test_a_world_that_is_booted_again_works_again():
    """The same processes, the same bus; both NICs, because channels count what the other end has
    received."""

    def program(me):
        other = 1 - me.rank
        pair = me.receive(other, 4)
        me.finish(pair)
        assert pair[0].error is not None
        me.ranks.meet(me.bus)
        me.device = me.device.reopen(me.ranks.boot(me.bus, me.rank))
        me.ranks.meet(me.bus)
        for size in (4, 1500, 30_000):
            sent, received = me.send(other, pattern(size, me.rank)), me.receive(other, size)
            me.finish(sent, received)
            assert (received[0].error, received[1].data) == (None, pattern(size, other))
        me.device._close()

    def saboteur(bus, ranks):
        bus.elapse(20_000_000)
        reset(bus, ranks)

    Ranks().run(program, program, saboteur=saboteur)


def test_a_nic_that_is_well_is_left_alone():
    """A rank that waits for long looks at its NIC, finds nothing, and gets its message in the
    end."""

    def program(me):
        if me.rank:
            me.bus.elapse(15 * MILLISECOND)
            me.finish(me.send(0, b"late"))
            return me.bus.now
        pair = me.receive(1, 4)
        me.finish(pair)
        assert (pair[0].error, pair[1].data) == (None, b"late")
        return me.bus.now

    arrived, sent = Ranks().run(program, program)
    assert sent < arrived < sent + MILLISECOND // 50


def test_a_deadlock_stays_one():
    """Looking at NICs that are well is nothing that keeps the world going."""

    def program(me):
        me.finish(me.receive(1 - me.rank, 4))

    with pytest.raises(Deadlock):
        Ranks().run(program, program)
