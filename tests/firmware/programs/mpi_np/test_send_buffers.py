"""Send buffers of channels (NP-04, NP-39)."""

import pytest

from lanai_firmware.programs.mpi_np.border import requests
from lanai_firmware.programs.mpi_np.layout import BLOCK, Error, Kind, Type
from lanai_firmware.programs.mpi_np.memory.send_buffers import send_buffers
from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_firmware.programs.mpi_np.protocol import ahead
from lanai_firmware.programs.mpi_np.sram import LEAST_HEAP, lay_out
from lanai_firmware.programs.mpi_np.wire import incoming
from lanai_hdl.errors import UserError
from lanai_hdl.machine import Verdict

from .rig import ENTRY, FULL, SMALL, Rig, body, received, run, types
from .test_order import send_in_parts
from .test_start import SRAM_END, SRAM_HEAP

LEAST = FULL.but(eager_limit=512, send_buffer=1088)
SIZE = 400


def sent(host):
    return [record["operation"] for record in host.records() if record["kind"] is Kind.SENT]


def ring(rig, name, peer=1):
    """A ring of rank 0's channel: bytes in use, of how many."""
    with rig.fabric.nics[0].machine:
        found = getattr(send_buffers()[peer], name)
        return int(found.used), int(found.size)


@pytest.mark.parametrize(("config", "done"), [(FULL, 4), (FULL.but(send_buffer=8256), 8)])
def test_bodies_wait_for_credit_on_the_nic(config, done):
    """There is credit for four messages. Where the channel has a send buffer the others come too, and the program has
    its buffers back; what it then writes there is not sent."""
    rig = Rig(config)
    sender, receiver = rig.hosts
    for n in range(1, 9):
        sender.send(n, n, body(n, SIZE), long=True)
    run(rig)
    assert types(rig)["EAGER"] == 4
    assert sent(sender) == list(range(1, done + 1))
    for n in range(1, done + 1):
        sender.body[n * 4096 : n * 4096 + SIZE] = bytes(SIZE)
    for n in range(1, 9):
        receiver.receive(n, n)
    run(rig)
    assert received(receiver) == list(range(1, 9))
    assert all(receiver.page(n, SIZE) == body(n, SIZE) for n in range(1, 9))
    assert sorted(sent(sender)) == list(range(1, 9)), "each send is reported once"


def test_sixty_four_channels_have_room_to_send_and_to_receive():
    """The thesis's: at least 4.5 KB each."""
    layout = lay_out(McpConfig(send_buffer=4608, eager_limit=2048), 1, 64, SRAM_HEAP, SRAM_END)
    plan = layout.plan
    assert (plan["channels"], plan["pools"]) == (64, 0)
    assert plan["blocks_per_channel"] * BLOCK >= LEAST_HEAP
    assert layout.regions[0] - plan["stage_space"] >= 64 * 4608


def test_what_does_not_fit_stays_with_the_host():
    rig = Rig(LEAST)
    sender, receiver = rig.hosts
    for n in range(1, 9):
        sender.send(n, n, body(n, SIZE), long=True)
    run(rig)
    assert sent(sender) == [1, 2, 3, 4, 5], "one body of 400 bytes fits into half of the buffer"
    assert ring(rig, "ahead") == (448, 544)
    for n in range(1, 9):
        receiver.receive(n, n)
        run(rig)
    assert received(receiver) == list(range(1, 9))
    assert all(receiver.page(n, SIZE) == body(n, SIZE) for n in range(1, 9))
    assert ring(rig, "ahead")[0] == ring(rig, "leaving")[0] == 0


def test_a_body_that_does_not_fit_behind_the_last_goes_to_the_start():
    """Sizes change, so that rooms begin everywhere."""
    rig = Rig(FULL.but(eager_limit=2048, send_buffer=4160))
    sender, receiver = rig.hosts
    sizes = [300, 900, 500, 1500, 260, 700, 1100, 450, 2000, 333]
    for turn in range(6):
        for n, size in enumerate(sizes, 1):
            sender.send(n, n, body(n + turn, size), long=True)
        run(rig)
        for n in range(1, len(sizes) + 1):
            receiver.receive(n, n)
            run(rig)
        assert all(receiver.page(n, size) == body(n + turn, size) for n, size in enumerate(sizes, 1))
    assert ring(rig, "ahead")[0] == ring(rig, "leaving")[0] == 0


@pytest.mark.parametrize("cut_through", [0, 1])
def test_a_long_body_leaves_in_parts_that_fit(cut_through):
    """Its pieces have 1000 bytes, the buffer has room for 512."""
    rig = Rig(FULL.but(eager_limit=0, send_buffer=1088, cut_through=cut_through))
    sender, receiver = rig.hosts
    receiver.receive(1, 1)
    run(rig)
    send_in_parts(sender, 1, body(1, 4000))
    run(rig)
    assert receiver.page(1, 4000) == body(1, 4000)
    assert types(rig)["ANSWER"] >= 8
    assert ring(rig, "leaving")[0] == 0


def test_an_announced_body_passes_those_that_wait():
    """NP-G9: the receiver takes a later, long message first, and gives no credit before. Bodies that wait fill their
    half of the buffer."""
    rig = Rig(LEAST.but(eager_limit=450))
    sender, receiver = rig.hosts
    sender.send(1, 1, body(1, 1000), long=True)
    for n in range(2, 9):
        sender.send(n, n, body(n, SIZE), long=True)
    run(rig)
    assert types(rig)["RECV_REQ"] == 1
    assert ring(rig, "ahead")[0] != 0
    receiver.receive(1, 1)
    run(rig)
    assert received(receiver) == [1]
    assert receiver.page(1, 1000) == body(1, 1000)


def test_a_channel_takes_no_room_of_another():
    """NP-07: rank 1 takes nothing, and rank 2 all."""
    rig = Rig(LEAST, places=(1, 1, 1))
    sender, _, other = rig.hosts
    for n in range(1, 9):
        sender.send(n, n, body(n, SIZE), long=True, peer=1)
    run(rig)
    assert ring(rig, "ahead")[0] != 0
    for n in range(9, 13):
        sender.send(n, n, body(n, SIZE), long=True, peer=2)
        other.receive(n - 8, n, peer=0)
    run(rig)
    assert received(other) == [1, 2, 3, 4]


def test_a_body_that_cannot_be_brought_ahead_is_lost_at_both_ends():
    rig = Rig(FULL.but(send_buffer=8256))
    sender, receiver = rig.hosts
    sender.lose_page(6)
    for n in range(1, 9):
        sender.send(n, n, body(n, SIZE), long=True)
    run(rig)
    errors = {record["operation"]: Error(record["error"]) for record in sender.records()}
    assert errors == {n: Error.BUS if n == 6 else Error.OK for n in range(1, 9)}
    for n in range(1, 9):
        receiver.receive(n, n)
        run(rig)
    ends = {r["operation"]: Error(r["error"]) for r in receiver.records() if r["kind"] is Kind.RECEIVED}
    assert ends == {n: Error.DAMAGED if n == 6 else Error.OK for n in range(1, 9)}
    assert Type.EAGER_LOST in {kind for _, kind in rig.packets}


def test_a_body_outside_the_window_is_not_brought_ahead(monkeypatch):
    """NP-28: it is refused when its turn comes, and those behind it go on."""
    brought = []
    monkeypatch.setattr(ahead, "download", lambda *transfer: brought.append(transfer))
    rig = Rig(FULL.but(send_buffer=8256))
    sender, receiver = rig.hosts
    for n in range(1, 5):
        sender.send(n, n, body(n))
    run(rig)
    sender.send(5, 5, body(5, SIZE), long=True)
    sender.own = lambda address: address + sender.window  # what the request says of its body
    run(rig)
    assert not brought
    for n in range(1, 5):
        receiver.receive(n, n)
    run(rig)
    assert [r["error"] for r in sender.records() if r["kind"] is Kind.REFUSED] == [Error.BAD_ADDRESS]


# Refusals of the firmware's configuration, and the effects of its switches on the model.


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"crc_check": 2}, "crc_check=2 must be a whole number from 0 to 1"),
        ({"windows": 8}, "no parameter 'windows'; it has ack_slots, "),
        ({"send_buffer": 8192}, "send_buffer=8192 must be 0 or a multiple of 64 from 8256 on: .* eager_limit=4096"),
        ({"send_buffer": 1024, "eager_limit": 0}, "send_buffer=1024 must be 0 or a multiple of 64 from 1088 on"),
        ({"ack_slots": -1}, "ack_slots=-1 must be a whole number"),
    ],
)
def test_bad_values_are_quoted(changes, says):
    with pytest.raises(UserError, match=says):
        McpConfig().but(**changes)


def corrupted(config):
    """One message, whose packet arrives with a wrong CRC and a changed byte."""
    rig = Rig(config)
    rig.fabric.filter = spoil
    rig.hosts[1].receive(1, 7)
    rig.hosts[0].send(1, 7, b"x" * 40)
    rig.run(lambda count: 0)
    return rig.hosts[1]


def spoil(source, target, packet):
    packet.data = packet.data[:30] + b"?" + packet.data[31:]
    packet.verdict = int(Verdict.VALID | Verdict.CRC)
    return [packet]


def test_without_check_a_corrupted_packet_goes_unnoticed():
    """NP-30: the thesis relies on the link; here that is a choice."""
    host = corrupted(SMALL.but(crc_check=0))
    assert [record["kind"] for record in host.records()] == [Kind.RECEIVED]
    assert host.page(1, 40) == b"xx?" + b"x" * 37
    assert not corrupted(SMALL).records()
    assert paper().crc_check == 0


@pytest.mark.parametrize("mark", [0, 1])
def test_used_page_entries_are_marked(mark):
    """NP-46: one more host DMA for each entry, if so configured."""
    rig = Rig(SMALL.but(mark_entries=mark, eager_limit=0))
    rig.hosts[0].send(1, 7, b"y" * 40, long=True)
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    assert rig.hosts[1].page(1, 40) == b"y" * 40
    assert rig.hosts[0].table[2 * ENTRY - 4 : 2 * ENTRY] == bytes([0, 0, 0, mark])


@pytest.mark.parametrize("quick", [0, 1])
def test_without_quick_paths_messages_take_the_general_ones(quick, monkeypatch):
    """A short message that is expected, and the parts of a long one, arrive either way."""
    taken = set()

    def noted(module, name):
        path = getattr(module, name)

        def watched(*arguments):
            took = path(*arguments)
            if took:
                taken.add(name)
            return took

        monkeypatch.setattr(module, name, watched)

    noted(requests, "send_short")
    noted(incoming, "receive_short")
    noted(incoming, "receive_part")
    rig = Rig(SMALL.but(quick=quick))
    one, two = rig.hosts
    for tag, size, long in ((1, 40, False), (2, 4000, True)):
        two.receive(tag, tag)
        rig.run(lambda count: 0)
        one.send(tag, tag, bytes([tag + 1]) * size, long=long)
        rig.run(lambda count: 0)
        assert two.page(tag, size) == bytes([tag + 1]) * size
    assert [record["kind"] for record in two.records()] == [Kind.RECEIVED] * 2
    assert taken == ({"send_short", "receive_short"} if quick else set())
