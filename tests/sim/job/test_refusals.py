"""Refusals of a run with NICs: they come before a model of the NICs is built, which can take a
minute."""

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_host.errors import UserError
from lanai_host.stacks import stack
from lanai_sim.engines import rtl
from openlanai import Job, Machine


@pytest.mark.parametrize("device", ["ccu"])
def test_a_device_whose_packets_no_trace_shows(device, monkeypatch, tmp_path):
    monkeypatch.setattr(rtl, "build", None)
    monkeypatch.setattr(type(stack(device)), "vocabulary", None)
    trace = tmp_path / "no.trace"
    with pytest.raises(UserError, match=f"--trace cannot show the packets of the device '{device}'"):
        Job(("true",), 2, device, trace=str(trace)).run()
    assert not trace.exists()


def test_what_is_refused_leaves_no_trace(monkeypatch, tmp_path):
    monkeypatch.setattr(rtl, "build", None)
    trace = tmp_path / "no.trace"
    with pytest.raises(UserError, match="ccu serves 8 ranks a node, not 9"):
        Job(("true",), 9, "ccu", ranks_per_node=9, trace=str(trace)).run()
    assert not trace.exists()


@pytest.mark.parametrize(
    ("device", "ranks", "ranks_per_node", "text"),
    [
        ("ccu", 9, 9, "ccu serves 8 ranks a node, not 9; put fewer ranks on a NIC"),
        ("t3d", 2, 2, "t3d puts one rank on a NIC, not 2"),
        ("sci", 9, 9, "9 ranks on a NIC are more than its adapter serves; .*: put fewer ranks on a NIC"),
        ("mbcf", 257, 1, "257 NICs are too many for a tree of switches, which joins 240; put more ranks on a NIC"),
    ],
)
def test_more_ranks_than_a_system_serves(device, ranks, ranks_per_node, text, monkeypatch):
    monkeypatch.setattr(rtl, "build", None)
    with pytest.raises(UserError, match=text):
        Job(("true",), ranks, device, ranks_per_node=ranks_per_node).run()


@pytest.mark.parametrize(
    ("device", "ranks", "ranks_per_node", "text"),
    [
        ("ccu", 257, 1, "ccu has room for 256 nodes, not 257; put more ranks on a NIC .--ranks-per-node 2"),
        ("ccu", 2560, 5, "start at most 2048 ranks, 8 on a NIC .--ranks-per-node"),
        ("bip", 257, 1, "bip has room for 256 ranks, not 257; start fewer with -n, or choose another --device"),
    ],
)
def test_more_nodes_than_a_packet_can_name(device, ranks, ranks_per_node, text, monkeypatch):
    monkeypatch.setattr(rtl, "build", None)
    with pytest.raises(UserError, match=text):
        Job(("true",), ranks, device, Machine(fabric="torus:8x8x8"), ranks_per_node=ranks_per_node).run()


def test_more_nics_than_the_chosen_adapter_knows(monkeypatch):
    monkeypatch.setattr(rtl, "build", None)
    machine = Machine(lanai41().but(blocks=(Remote(peers=8),)))
    with pytest.raises(UserError, match=r"9 NICs .* it has peers=8: put more ranks on a NIC .*remote.peers=9"):
        Job(("true",), 9, "mbcf", machine).run()
