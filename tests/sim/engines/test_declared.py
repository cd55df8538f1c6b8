"""Structs that Python and C++ share: Python packs what the compiler lays out."""

import subprocess

import numpy as np
import pytest

from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import FlitKind
from lanai_host.compilers import Language, find
from lanai_sim.engines import declared
from lanai_sim.engines.base import Access, Burst, Event, Planned
from lanai_sim.engines.declared import Shared, header


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
