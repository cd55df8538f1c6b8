"""Faults: what is asked for happens, to that packet and no other, in every run."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError
from lanai_sim.engines.base import SlotTime
from lanai_sim.engines.native_library import texts
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine import faults
from lanai_sim.machine.fabrics.switches import pair, star

NIC = lanai41()
PAIR = pair()
SENT = 4


@cache
def image():
    return build(Path(__file__).parents[1] / "engines" / "relay.py", NIC)


def start(bus, words):
    """Load the program and run it, with these words in its scratch registers."""
    here = image()
    bus.write_block(SRAM_HOST + here.base, here.loaded)
    for number, value in words.items():
        bus.write(host_offset(f"SCRATCH{number}"), value)
    bus.write(host_offset("CONTROL"), int(Control.RUN))


def deliver(*texts, net=PAIR):
    """Send SENT packets from nic0 to nic1 with these faults; what arrived, counters of nic1, and
    what happened on which wire."""
    cluster = Cluster(net, NIC, RtlEngine)
    for wire, plan in faults.plan([faults.parse(text) for text in texts], net, SlotTime(66_000)).items():
        cluster.engine.faults(wire, plan)
    arrived = []

    def sender(bus):
        out = bus.allocate(4096)
        start(bus, {1: out.bus_address, 2: 64, 3: net.route(0, 1)})
        bus.elapse(8_000_000)
        for turn in range(SENT):
            out.view[:64] = bytes([turn + 1]) * 64
            bus.write(host_offset("DOORBELL"), 1)
            bus.elapse(10_000_000)

    def receiver(bus):
        into, count = bus.allocate(4096), bus.allocate(4096)
        start(bus, {4: into.bus_address, 5: count.bus_address})
        seen = 0
        for _ in range(60):  # look every microsecond: packets come ten apart
            bus.elapse(1_000_000)
            now = int.from_bytes(count.view[:4], "big")
            if now != seen:
                seen = now
                arrived.append(into.view[0])
        names = ("RX_PACKETS", "RX_CRC_ERRORS", "RX_TRUNCATED", "LINK_DOWNS")
        return {name: bus.read(host_offset(name)) for name in names}

    cluster.spawn(0, sender)
    task = cluster.spawn(1, receiver)
    cluster.run()
    wires = range(2 * len(net.cables))
    counts = {kind.name: sum(cluster.engine.fault_count(wire, kind) for wire in wires) for kind in faults.FaultKind}
    cluster.close()
    return arrived, task.result, {name: count for name, count in counts.items() if count}


def test_without_faults_all_arrive():
    arrived, counters, happened = deliver()
    assert arrived == [1, 2, 3, 4]
    assert (counters["RX_PACKETS"], happened) == (4, {})


def test_drop_takes_the_named_packet():
    arrived, counters, happened = deliver("drop nic0 packet=1")
    assert arrived == [1, 3, 4]
    assert (counters["RX_PACKETS"], happened) == (3, {"DROP": 1})


def test_corruption_is_found_by_the_crc():
    _, counters, happened = deliver("corrupt nic0 packet=2 bit=37")
    assert (counters["RX_PACKETS"], counters["RX_CRC_ERRORS"], happened) == (3, 1, {"CORRUPT": 1})


def test_duplicate_arrives_twice():
    _, counters, happened = deliver("duplicate nic0 packet=0")
    assert (counters["RX_PACKETS"], happened) == (5, {"DUPLICATE": 1})


def test_delay_lets_the_packet_come_later():
    arrived, counters, happened = deliver("delay nic0 packet=0 by=4us")
    assert (arrived, counters["RX_PACKETS"], happened) == ([1, 2, 3, 4], 4, {"DELAY": 1})


def test_reorder_lets_the_next_packet_overtake():
    _, counters, happened = deliver("reorder nic0 packet=1 by=100us")
    assert (counters["RX_PACKETS"], counters["RX_CRC_ERRORS"], happened) == (4, 0, {"REORDER": 1})


def test_a_packet_held_back_is_not_let_go_within_another():
    """Its time ends while the next packet is on the wire."""
    arrived, counters, _ = deliver("reorder nic0 packet=1 by=9500ns")
    assert (arrived, counters["RX_PACKETS"], counters["RX_TRUNCATED"]) == ([1, 3, 2, 4], 4, 0)


def test_a_link_goes_down_and_comes_back():
    _, counters, happened = deliver("down nic0 from=12us to=22us")
    assert counters["LINK_DOWNS"] == 1
    assert counters["RX_PACKETS"] < 4
    assert happened == {"DOWN": 1}


@pytest.mark.parametrize(
    ("text", "arrived", "counter"),
    [
        ("drop nic0 packet=1", [1, 3, 4], "RX_PACKETS"),
        ("drop switch0.1 packet=1", [1, 3, 4], "RX_PACKETS"),
        ("corrupt switch0.1 packet=2 bit=37", None, "RX_CRC_ERRORS"),
        ("duplicate nic0 packet=0", None, "RX_PACKETS"),
        ("delay switch0.1 packet=0 by=4us", [1, 2, 3, 4], "RX_PACKETS"),
        ("reorder switch0.1 packet=1 by=100us", None, "RX_PACKETS"),
        ("down switch0.1 from=12us to=22us", None, "LINK_DOWNS"),
    ],
)
def test_faults_before_and_behind_a_switch(text, arrived, counter):
    got, counters, happened = deliver(text, net=star(2))
    kind = text.split()[0].upper()
    assert happened == {kind: 1}
    assert counters[counter] == {"DROP": 3, "CORRUPT": 1, "DUPLICATE": 5, "DOWN": 1}.get(kind, 4)
    if arrived is not None:
        assert got == arrived


def chosen(tmp_path, plan, first, count):
    """The packets of [first, first + count) that the native engine's faults hit, with their
    kinds."""
    program = tmp_path / "faults"
    if not program.exists():
        source = Path(__file__).parents[1] / "engines" / "native" / "faults.cc"
        for name, content in texts().items():
            (tmp_path / name).write_text(content)
        command = [*find(Language.CXX).command, "-std=gnu++17", "-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([*command, f"-I{tmp_path}", "-o", str(program), str(source)], check=True)
    words = [str(word) for fault in plan for word in fault]
    answer = subprocess.run([str(program), str(first), str(count), *words], capture_output=True, text=True, check=True)
    return {int(number): int(kind) for number, kind in map(str.split, answer.stdout.splitlines())}


def planned(*texts):
    return faults.plan([faults.parse(text) for text in texts], PAIR, SlotTime(66_000))


def test_rates_happen_as_planned(tmp_path):
    text = "drop nic0 rate=0.5 seed=1"
    lost = chosen(tmp_path, planned(text)[0], 0, SENT)
    assert 0 < len(lost) < SENT
    arrived, _, happened = deliver(text)
    assert arrived == [number + 1 for number in range(SENT) if number not in lost]
    assert happened == {"DROP": len(lost)}


def test_rates_follow_from_seed_wire_and_packet(tmp_path):
    def hit(text, wire=0, first=0):
        return chosen(tmp_path, planned(text)[wire], first, 1 << 20)

    here = hit("drop * rate=0.01 seed=7")
    assert here == hit("drop * rate=0.01 seed=7")
    assert here != hit("drop * rate=0.01 seed=8")
    assert here != hit("drop * rate=0.01 seed=7", wire=1)
    assert 10_000 < len(here) < 11_000


@pytest.mark.parametrize("first", [1 << 20, 1 << 32, 1 << 60])
def test_rates_know_no_last_packet(first, tmp_path):
    hits = chosen(tmp_path, planned("drop nic0 rate=0.01")[0], first, 1 << 20)
    assert 10_000 < len(hits) < 11_000


@pytest.mark.parametrize(("rate", "count"), [(0, 0), (1, 1000)])
def test_rates_at_their_ends(rate, count, tmp_path):
    assert len(chosen(tmp_path, planned(f"drop nic0 rate={rate}")[0], 0, 1000)) == count


def test_of_several_faults_of_a_packet_the_first_asked_for_counts(tmp_path):
    rate, packet = "corrupt nic0 rate=1", "drop nic0 packet=5"
    kinds = faults.FaultKind
    assert chosen(tmp_path, planned(packet, rate)[0], 4, 2) == {4: kinds.CORRUPT, 5: kinds.DROP}
    assert chosen(tmp_path, planned(rate, packet)[0], 4, 2) == {4: kinds.CORRUPT, 5: kinds.CORRUPT}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lose nic0 packet=1", "'lose nic0 packet=1' is not understood"),
        ("drop nic0 by=1us", "unknown keys by"),
        ("drop nic0", "needs packet=N or rate"),
        ("drop nic0 rate=2", "needs packet=N or rate"),
        ("down nic0 from=3us to=2us", "in order"),
        ("delay nic0 packet=0 by=3", "'3' is not a time"),
    ],
)
def test_bad_faults_are_refused(text, complaint):
    with pytest.raises(UserError, match=complaint):
        faults.parse(text)


def test_a_fault_must_name_what_is_there():
    with pytest.raises(UserError, match="'nic7'"):
        faults.plan([faults.parse("drop nic7 packet=0")], PAIR, SlotTime(66_000))
