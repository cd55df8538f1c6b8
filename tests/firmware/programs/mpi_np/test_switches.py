"""Refusals of the firmware's configuration, and the effects of its switches on the model."""

import pytest

from lanai_firmware.programs.mpi_np.border import requests
from lanai_firmware.programs.mpi_np.layout import Kind
from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_firmware.programs.mpi_np.wire import incoming
from lanai_hdl.errors import UserError
from lanai_hdl.machine import Verdict

from .rig import ENTRY, SMALL, Rig


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
