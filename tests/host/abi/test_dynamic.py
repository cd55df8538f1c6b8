"""Names in the dynamic section, against pyelftools."""

import struct
import sys
from pathlib import Path

import llvmlite.binding
import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from mpi4py import __file__ as mpi4py
from numpy._core import _multiarray_umath

from lanai_host.abi.programs import NAMES, dynamic_names

FIELDS = {"DT_NEEDED": "needed", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
BUILDS = sorted(Path(mpi4py).parent.glob("MPI*.so"))
BINARIES = [sys.executable, "/bin/sh", _multiarray_umath.__file__, *map(str, BUILDS)]
PLACES = [0, 4, 5, 32, 54, 56, 64, 72, 96]  # in the header and the first two segments


def by_elftools(path):
    found = {}
    with open(path, "rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        for tag in section.iter_tags() if isinstance(section, DynamicSection) else ():
            if tag.entry.d_tag in FIELDS:
                found.setdefault(tag.entry.d_tag, []).append(getattr(tag, FIELDS[tag.entry.d_tag]))
    return found


@pytest.mark.parametrize("path", [*BINARIES, llvmlite.binding.ffi.lib._name])
def test_as_pyelftools_reads_them(path):
    assert dynamic_names(Path(path)) == by_elftools(path)


def test_there_are_names():
    assert any(dynamic_names(Path(path)).get("DT_NEEDED") for path in BINARIES)
    assert set(NAMES.values()) == set(FIELDS)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\2\1" + bytes(90)])
def test_other_files_have_none(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert dynamic_names(path) == {}


def test_a_directory_and_an_absent_file_have_none(tmp_path):
    assert dynamic_names(tmp_path) == dynamic_names(tmp_path / "absent") == {}


def test_a_section_longer_than_memory_is_cut_to_the_file(tmp_path):
    content = bytearray(Path("/bin/sh").read_bytes())
    first = 64  # the table of segments follows the header
    for at in range(first, first + 56 * 20, 56):
        if struct.unpack_from("<I", content, at)[0] == 2:
            struct.pack_into("<Q", content, at + 32, 2**62)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert dynamic_names(path) == by_elftools("/bin/sh")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [0, 2**32, 2**64 - 1])
def test_damaged_files_end_well(tmp_path, place, value):
    content = bytearray(Path("/bin/sh").read_bytes()[:4096])
    content[place : place + 8] = struct.pack("<Q", value)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert set(dynamic_names(path)) <= set(FIELDS)
