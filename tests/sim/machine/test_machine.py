"""A machine is data: what users write becomes the parts, and JSON brings each part back."""

import json
import pickle

import pytest

from lanai_hdl.config import PRESETS as OWN
from lanai_hdl.config import BlockedAction, NicConfig, lanai41
from lanai_hdl.remote.config import Remote
from lanai_host.bus.base import PAGE_SIZE, BusError, Watched
from lanai_host.config import PRESETS as HOSTS
from lanai_host.config import HostConfig, HostCost, Queue, alpha21064
from lanai_host.errors import UserError
from lanai_sim.engines.base import FaultKind
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics.switches import pair
from lanai_sim.machine.faults import Fault, parse
from lanai_sim.machine.machine import Machine
from lanai_sim.machine.presets import PRESETS, t3d, t3d_barrier, t3e
from lanai_sim.machine.presets import PRESETS as NICS
from lanai_sim.studies.papers.claims import load

FAULTS = (
    "drop nic0 packet=3",
    "drop * rate=0.25",
    "corrupt switch0.1 rate=0.01 seed=7 bit=5",
    "duplicate nic1 packet=0 seed=2",
    "delay nic0 packet=1 by=1234567ns",
    "reorder nic0 rate=0.1 seed=3 by=5us",
    "down nic1 from=1ps to=3ms",
)
OTHERS = [
    Machine(NicConfig(sram_size=131072, blocked_action=BlockedAction.RESET)),
    Machine(NicConfig(blocks=(Remote(peers=32),))),
    Machine(fabric="torus:2x2"),
    Machine(fabric=[("nic0", "switch0.1"), ("nic1", "switch0.3")]),
    Machine(host=HostConfig(queue=Queue.HASH, cpu_scale=0.1, match=7)),
    Machine(faults=FAULTS),
]
ALL = [Machine(), *map(Machine, NICS), *(Machine(host=name) for name in HOSTS), *OTHERS]


@pytest.mark.parametrize("machine", ALL)
def test_json_brings_a_machine_back(machine):
    assert Machine.from_json(machine.to_json()) == machine
    assert pickle.loads(pickle.dumps(machine)) == machine


def test_a_part_may_be_written_as_users_write_it():
    machine = Machine({"preset": "small_fpga", "link_latency": 16}, host={"match": 5}, faults=["drop nic0 packet=3"])
    assert (machine.nic.sram_size, machine.nic.link_latency, machine.host) == (131072, 16, HostConfig(match=5))
    assert machine.faults == (Fault(FaultKind.DROP, "nic0", packet=3),)
    assert machine.but(nic="t3d").nic == NICS["t3d"]()
    assert machine.but(nic="t3d").host == machine.host


def test_a_file_of_cables_is_read_at_once(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text('cables = [["nic0", "switch0.1"], ["nic1", "switch0.3"]]')
    machine = Machine(fabric=str(path))
    path.unlink()
    assert machine == Machine(fabric=[("nic0", "switch0.1"), ("nic1", "switch0.3")])
    assert json.loads(machine.to_json())["fabric"] == {"cables": [["nic0", "switch0.1"], ["nic1", "switch0.3"]]}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_written_as_it_is_read(text):
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"nics": {}}, r"no key 'nics'; did you mean 'nic'\?"),
        ({"nic": {"sram_siz": 5}}, r"\[nic\] has no key 'sram_siz'; did you mean 'sram_size'\?"),
        ({"nic": {"remote": {"peers": 3}}}, r"\[nic\] of these NICs has no key 'remote'"),
        ({"nic": {"blocks": ["remote"], "remote": {"peer": 3}}}, r"has no key 'peer'; did you mean 'peers'\?"),
        ({"host": {"mach": 5}}, r"\[host\] has no key 'mach'; did you mean 'match'\?"),
        ({"host": {"match": "5"}}, "must be a whole number"),
        ({"faults": "drop nic0 packet=3"}, "write a list"),
        ({"fabric": {"cable": []}}, r"did you mean 'cables'\?"),
        ([], "must be a table"),
    ],
)
def test_json_that_is_no_machine_is_refused(document, complaint):
    with pytest.raises(UserError, match=complaint):
        Machine.from_json(json.dumps(document))


def test_text_that_is_no_json_is_refused():
    with pytest.raises(UserError, match="cannot be read from JSON: Expecting value"):
        Machine.from_json("nic: t3d")


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match=r"nic 't3dd' is not known; did you mean 't3d'\?"):
        Machine("t3dd")
    with pytest.raises(UserError, match=r"Machine has no key 'hosts'; did you mean 'host'\?"):
        Machine().but(hosts="free")


# NICs that stand for the machine of a paper: what they were fitted on.


def test_the_gateware_s_own_presets_are_among_them():
    assert PRESETS.items() >= OWN.items()


def test_the_host_bus_of_the_t3d_carries_the_peak_that_the_paper_implies():
    """A line of 32 bytes takes its setup and a clock a word."""
    nic = t3d()
    clocks = nic.read_setup + 8 * nic.max_burst // nic.host_bus_bits
    (claim,) = (claim for claim in load("t3d") if claim.id == "t3d.s4.peak_derived")
    assert nic.max_burst * nic.host_bus_khz / clocks / 1000 == pytest.approx(claim.value, rel=0.01)


def test_the_t3e_is_the_same_nic():
    assert t3e() == t3d()


def test_the_barrier_tree_is_all_that_its_preset_adds():
    assert t3d_barrier().but(blocks=()) == t3d()


def test_nothing_is_pinned_on_the_t3d():
    host = alpha21064()
    assert [host.price(what) for what in (HostCost.PIN, HostCost.PIN_PAGE, HostCost.UNPIN_PAGE)] == [0, 0, 0]


# Memory that the processes of one host share: stores take effect at their time, and wake who waits
# for them.


def test_a_store_wakes_only_what_waits_for_the_word():
    shared, woken = [], []

    def owner(bus):
        memory, own = bus.allocate(PAGE_SIZE, shared=True), bus.allocate(PAGE_SIZE)
        shared.extend((memory.bus_address, own.bus_address))
        bus.wait_any([Watched(memory, 8, bytes(4))])
        woken.append((bus.now, bytes(memory.view[:12])))

    def other(bus):
        for offset in (4, 8):
            bus.elapse(5_000_000)
            bus.store(shared[0] + offset, b"abcd")
            assert bus.now == (offset // 4) * 5_000_000
        for wrong in (shared[0] - 1, shared[0] + PAGE_SIZE - 3, shared[1]):  # the last is not shared
            with pytest.raises(BusError, match=f"4 bytes at bus address {wrong:#x} are in no memory"):
                bus.store(wrong, b"abcd")

    def elsewhere(bus):
        bus.elapse(1_000_000)
        with pytest.raises(BusError, match="no memory that a process of this host shares"):
            bus.store(shared[0], b"abcd")

    cluster = Cluster(pair(), lanai41())
    try:
        for node, program in ((0, owner), (0, other), (1, elsewhere)):
            cluster.spawn(node, program)
        cluster.run()
    finally:
        cluster.close()
    assert woken == [(10_000_000, bytes(4) + b"abcdabcd")]
