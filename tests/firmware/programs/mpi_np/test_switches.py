"""Refusals of the firmware's configuration, and the effects of its switches on the model."""

import pytest

from lanai_firmware.errors import UserError
from lanai_firmware.programs.mpi_np.layout import Kind
from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_hdl.machine import Verdict

from .rig import ENTRY, SMALL, Rig


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"crc_check": 2}, "crc_check=2 must be a whole number from 0 to 1"),
        ({"windows": 8}, "no parameter 'windows'; it has ack_slots, "),
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
