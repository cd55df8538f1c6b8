"""Numbers of a NIC that only scale time are given to a model when it runs: one model serves all."""

import importlib
import subprocess
import sys
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import RANGES, NicConfig, lanai41
from lanai_hdl.control.csr import IDENTITY
from lanai_hdl.csr.declare import RegisterBlock
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import FlitKind
from lanai_hdl.machine import host_offset
from lanai_hdl.remote.config import Remote
from lanai_host.compilers import Language, find
from lanai_sim.engines import declared, designs, rtl
from lanai_sim.engines.base import NEVER, Access, Burst, Event, Layout, Planned
from lanai_sim.engines.declared import Shared, header
from lanai_sim.engines.designs import Design
from lanai_sim.engines.gates import translate
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.machine.fabrics import describe
from lanai_sim.studies.recordings import COLLECTIVES, HIGH, LOW
from openlanai import Job

from .play import NIC, PAIR, play

STRUCTURE = {name for name in (field.name for field in fields(NicConfig)) if name not in RANGES}
SHARED = ("switch", "switches:2", "segment", "hub", "csma", "switching-hub", "ring")


@dataclass(frozen=True)
class Foreign(BlockConfig):
    """A block that may take the numbers of its NIC as plain integers."""

    name = "foreign"
    declares = RegisterBlock("Foreign")

    def build(self, config):
        raise AssertionError("a key elaborates nothing")


# The barrier tree with its numbers built in: a module, which the process that elaborates it imports.
FIXED_TREE = """
from lanai_hdl.barrier.config import BarrierTree
class FixedTree(BarrierTree):
    takes_numbers = False
"""


def keys(nic, fabric="switch"):
    layout = describe(fabric, 4).layout(nic)
    return [designs.key([Design(one)]) for one in (nic, layout.switch)]


@pytest.mark.parametrize("blocks", [(), (Remote(),), (BarrierTree(),)], ids=["plain", "adapter", "barrier"])
@pytest.mark.parametrize("name", RANGES)
def test_each_number_leaves_the_model_as_it_is(name, blocks):
    nic = NicConfig(blocks=blocks)
    for value in {LOW[name], HIGH[name]} - ({LOW[name]} if name == "max_burst" and blocks else set()):
        fast = nic.but(slot_khz=200_000)  # at which all other values are possible
        assert keys(fast.but(**{name: value})) == keys(nic)


@pytest.mark.parametrize("fabric", SHARED)
def test_nor_does_a_fabric_need_another(fabric):
    assert keys(NIC, fabric) == keys(NIC.but(**LOW), fabric) == keys(NIC.but(**HIGH), fabric)


def test_what_is_structure_needs_another():
    other = {"sram_size": 4096, "rx_fifo": 128, "hdma_queue": 2, "send_queue": 2, "recv_queue": 2, "completions": 2}
    other |= {"blocked_slots": 1000, "blocks": (Remote(),)}
    assert set(other) | {"host_bus_bits", "blocked_action"} == STRUCTURE  # which have one value, or act with another
    made = {designs.key([Design(NIC.but(**{name: value}))]) for name, value in other.items()}
    assert len(made | {designs.key([Design(NIC)])}) == len(other) + 1


def test_a_block_that_does_not_say_so_gets_its_numbers_built_in():
    nic = NIC.but(blocks=(Foreign(),))
    assert Design(nic).numbers == {}
    assert designs.key([Design(nic)]) != designs.key([Design(nic.but(link_kbytes=100_000))])


def test_so_does_the_gateware_as_it_is_synthesized():
    made = [designs.key([Design(nic, as_synthesized=True)]) for nic in (NIC, NIC.but(link_kbytes=100_000))]
    assert made[0] != made[1]


def test_a_change_of_numbers_builds_nothing(monkeypatch):
    switch = describe("switch", 2).layout(NIC).switch
    keys = [table.key for table in rtl.build(NIC, switch)]
    monkeypatch.setattr("lanai_sim.engines.gates.compiled.in_fresh_process", None)
    assert [table.key for table in rtl.build(NIC.but(**LOW), replace(switch, nic=NIC.but(**LOW)))] == keys


def test_the_nic_tells_its_own_numbers():
    """In an engine beside one with other numbers, of the same library."""
    engines = [RtlEngine(Layout(nic, 2, PAIR.cables)) for nic in (NIC.but(**LOW), NIC.but(**HIGH))]
    for engine in engines:
        for register in IDENTITY.all_registers:
            engine.pio(0, [Access(0, False, host_offset(register.name), tag=1)])
            _, (event,) = engine.run(NEVER)
            told = getattr(engine.layout.nic, register.name.lower(), event.value)
            assert event.value == told, register.name
        engine.close()


@pytest.mark.ci  # builds the NIC and four fabrics with numbers built in
@pytest.mark.parametrize("fabric", ["switch", "csma", "switching-hub", "ring"])
@pytest.mark.parametrize("numbers", [LOW, HIGH], ids=["low", "high"])
def test_fabrics_do_what_they_do_with_numbers_built_in(fabric, numbers, monkeypatch):
    nic, net = lanai41().but(**numbers), describe(fabric, 4)
    expected = play(RtlEngine, net, 2, nic)
    monkeypatch.setattr("lanai_hdl.numbers.widest", lambda config: config)
    monkeypatch.setattr("lanai_hdl.numbers.values", lambda config: {})
    monkeypatch.setattr("lanai_hdl.numbers.greatest", lambda config: {})
    monkeypatch.setattr("lanai_hdl.run_time.greatest", lambda config: {})
    # A fresh process would not know of these.
    monkeypatch.setattr(
        "lanai_sim.engines.gates.compiled.in_fresh_process",
        lambda _, wanted: translate.deeply(lambda: translate.made(wanted)),
    )
    assert play(RtlEngine, net, 2, nic) == expected


@pytest.mark.ci  # builds another NIC and switch
def test_so_does_the_barrier_tree(tmp_path, monkeypatch):
    """Its timeouts follow from a quotient of rates. It begins a slot sooner than as it is synthesized."""
    (tmp_path / "fixed_tree.py").write_text(FIXED_TREE)
    monkeypatch.syspath_prepend(tmp_path)
    fixed = importlib.import_module("fixed_tree").FixedTree()
    assert Design(NIC.but(blocks=(fixed,))).numbers == {}
    one, other = (
        Job((sys.executable, "-c", COLLECTIVES), 2, "t3d").but(nic=NIC.but(**LOW, blocks=(tree,))).run()
        for tree in (BarrierTree(), fixed)
    )
    assert one.code == other.code == 0
    assert (one.sim_time, one.clocks) == (other.sim_time, other.clocks)


# Structs that Python and C++ share: Python packs what the compiler lays out.


def compiles(text, folder):
    (folder / "declared.h").write_text(text)
    (folder / "all.cc").write_text('#include "declared.h"\n')
    command = [*find(Language.CXX).command, "-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    return subprocess.run([*command, str(folder / "all.cc")], capture_output=True, text=True, check=False).stderr


def test_the_compiler_agrees_on_every_size_and_offset(tmp_path):
    assert compiles(header(), tmp_path) == ""


@pytest.mark.parametrize(
    ("wrong", "right"), [("sizeof(Pio) == 32", "sizeof(Pio) == 28"), ("kind) == 8", "kind) == 12")]
)
def test_it_would_not_agree_on_others(wrong, right, tmp_path):
    assert wrong in header()
    assert "static assertion failed" in compiles(header().replace(wrong, right, 1), tmp_path)


@pytest.mark.parametrize("one", declared.STRUCTS, ids=lambda one: one.name)
def test_python_packs_as_declared(one):
    numbers = np.dtype({"names": list(one.offsets),
    "formats": [column[1] if len(column) == 2 else column[1:] for column in one.columns],
                        "offsets": list(one.offsets.values()), "itemsize": one.size})  # fmt: skip
    values = range(1, 1 + len(one.struct.unpack(bytes(one.size))))
    row = np.frombuffer(one.struct.pack(*values), numbers)[0]
    assert [int(number) for name in one.offsets for number in np.ravel(row[name])] == list(values)


@pytest.mark.parametrize(
    ("record", "one", "more"),
    [(Event, declared.EVENT, 0), (Access, declared.PIO, 1), (Burst, declared.BURST, 0), (Planned, declared.FAULT, 0)],
)
def test_records_of_python_have_as_many_members(record, one, more):
    assert len(record._fields) + more == len(one.columns)


def test_padding():
    one = Shared("One", [("a", "u1"), ("b", "u8"), ("c", "u2")])
    assert (one.size, one.offsets) == (24, {"a": 0, "b": 8, "c": 16})
    packed = Shared("One", [("a", "u1"), ("b", "u8"), ("c", "<u2", (3,))], packed=True)
    assert (packed.size, packed.offsets) == (15, {"a": 0, "b": 1, "c": 9})


def test_the_kinds_of_flit_are_those_of_the_link():
    kinds = {kind.name: kind.value for kind in Kind}
    assert kinds == {kind.name: kind.value for kind in FlitKind}
    members = ", ".join(f"{name} = {value}" for name, value in kinds.items())
    assert f"enum FlitKind : uint8_t {{ {members} }};" in header()
