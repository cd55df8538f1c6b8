"""Views of any datatypes, against numpy arrays that stand for the file."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanai_host.mpi import ErrorClass, MpiError, datatypes
from lanai_host.mpi.datatypes import matching
from lanai_host.mpi.files import ACCESSES, access, state
from lanai_host.mpi.files import state as opening
from lanai_host.mpi.files.disk import Whence
from lanai_host.mpi.files.view import View
from lanai_host.mpi.memory import Scratch

from ..ranks import run as run_ranks
from .opened import REGISTRY, contents, opened, run, view

TYPES = {name: datatypes.PREDEFINED[f"MPI_{name}"] for name in ("BYTE", "SHORT", "INT", "DOUBLE")}
MADE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def filetypes(draw):
    """(etype, filetype, offsets): the bytes that one tile shows, by MPI's type map."""
    etype = draw(st.sampled_from(list(TYPES.values())))
    shape = draw(st.sampled_from(["plain", "vector", "indexed", "subarray", "struct"]))
    if shape == "plain":
        made, elements = etype, [0]
    elif shape == "vector":
        count, length, gap = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 3))
        made = datatypes.vector(count, length, length + gap, etype)
        elements = [block * (length + gap) + step for block in range(count) for step in range(length)]
    elif shape == "subarray":
        rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        high, wide = draw(st.integers(1, rows)), draw(st.integers(1, columns))
        top, left = draw(st.integers(0, rows - high)), draw(st.integers(0, columns - wide))
        made = datatypes.subarray([rows, columns], [high, wide], [top, left], datatypes.Order.C, etype)
        elements = [(top + row) * columns + left + column for row in range(high) for column in range(wide)]
    else:
        gaps = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=4))
        starts, lengths, at = [], [], 0
        for gap, length in gaps:
            starts.append(at + gap)
            lengths.append(length)
            at += gap + length
        elements = [start + step for start, length in zip(starts, lengths, strict=True) for step in range(length)]
        if shape == "indexed":
            made = datatypes.indexed(lengths, starts, etype)
        else:
            made = datatypes.struct(lengths, [start * etype.size for start in starts], [etype] * len(starts))
    extra = draw(st.integers(0, 3))
    if extra:
        made = datatypes.resized(made, 0, made.ub + extra * etype.size)
    made.commit()
    return etype, made, [element * etype.size + byte for element in elements for byte in range(etype.size)]


def shown(filetype, offsets, disp, length):
    """The bytes of a file of `length` bytes that the view shows, in the order of the stream."""
    tiles = 1 + max(0, length - disp) // max(1, filetype.extent)
    places = np.add.outer(np.arange(tiles) * filetype.extent, offsets).ravel() + disp
    return places[places < length]


@MADE
@given(filetypes(), st.integers(0, 20), st.data())
def test_a_view_reads_and_writes_the_bytes_that_its_type_map_says(tmp_path, made, disp, data):
    etype, filetype, offsets = made
    path = tmp_path / "file"
    before = np.arange(700, dtype=np.int64).astype(np.uint8)
    before.tofile(path)
    places = shown(filetype, offsets, disp, len(before))
    units = len(places) // etype.size
    start = data.draw(st.integers(0, units))
    count = data.draw(st.integers(0, units - start))
    bytes_of = places[start * etype.size : (start + count) * etype.size]

    def program(world):
        file = opened(world, path)
        view(file, etype, filetype, disp)
        back = np.zeros(count * etype.size + 1, np.uint8)
        assert access.run(ACCESSES["read_at"], file, back.ctypes.data, count, etype, start).count == len(bytes_of)
        assert back[:-1].tolist() == before[bytes_of].tolist()
        fresh = np.full(count * etype.size + 1, 255, np.uint8)
        state.seek(file, start, Whence.SET)
        access.run(ACCESSES["write_all"], file, fresh.ctypes.data, count, etype)
        assert state.get_position(file) == start + count
        if count:
            assert state.get_byte_offset(file, start) == bytes_of[0]
        state.seek(file, 0, Whence.END)
        end = state.get_position(file)
        opening.close(file)
        return end

    (end,) = run_ranks(1, program)
    assert end == -(-len(places) // etype.size)
    wanted = before.copy()
    wanted[bytes_of] = 255
    assert contents(path, np.uint8) == wanted.tolist()


@MADE
@given(filetypes(), st.integers(0, 200), st.integers(0, 40), st.integers(1, 60))
def test_positions_far_out_are_found_without_the_tiles_before_them(made, tiles, disp, size):
    etype, filetype, _offsets = made
    far = tiles * 10**9
    runs = View(disp, etype, filetype).runs(far * filetype.size, size)
    near = View(disp, etype, filetype).runs(0, size)
    assert (runs.offsets - far * filetype.extent).tolist() == near.offsets.tolist()
    assert runs.lengths.tolist() == near.lengths.tolist()


@pytest.mark.parametrize("name", ["SHORT", "INT", "LONG", "UNSIGNED_LONG", "DOUBLE", "WCHAR"])
@pytest.mark.parametrize("collective", [False, True])
def test_external32_is_big_endian_with_the_sizes_of_the_standard(tmp_path, name, collective):
    path = tmp_path / "file"
    datatype = datatypes.PREDEFINED[f"MPI_{name}"]
    values = np.arange(1, 7).astype(datatype.dtype)
    packed = Scratch(matching.size(len(values), datatype))
    matching.pack(values.ctypes.data, len(values), datatype, packed.address)
    pair = datatypes.resized(datatypes.contiguous(2, datatype), 0, 4 * datatype.signature.external)

    def program(world):
        file = opened(world, path)
        view(file, datatype, pair, datarep="external32")
        write, read = ("write_at_all", "read_at_all") if collective else ("write_at", "read_at")
        access.run(ACCESSES[write], file, values.ctypes.data, len(values), datatype, 0)
        back = np.zeros_like(values)
        moved = access.run(ACCESSES[read], file, back.ctypes.data, len(values), datatype, 0).count
        extent = state.get_type_extent(file, datatype)
        opening.close(file)
        return moved, back.tolist(), extent

    ((moved, back, extent),) = run_ranks(1, program)
    assert (moved, back, extent) == (values.nbytes, values.tolist(), datatype.signature.external)
    unit = 2 * datatype.signature.external
    found = path.read_bytes()
    assert b"".join(found[at : at + unit] for at in range(0, 6 * unit, 2 * unit)) == packed.data.tobytes()


def test_a_derived_etype_with_long_integers_shrinks_in_external32(tmp_path):
    long, double = datatypes.PREDEFINED["MPI_LONG"], datatypes.PREDEFINED["MPI_DOUBLE"]
    both = datatypes.struct([2, 1], [0, 16], [long, double])
    array = datatypes.subarray([4], [2], [1], datatypes.Order.C, both)
    found = View(0, both, array, REGISTRY.find("", "external32"))
    assert (both.size, found.unit.size) == (24, 16)
    assert (found.tile.size, found.tile.extent) == (32, 4 * found.unit.extent)


def test_a_cut_element_is_not_read_in_external32(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes([0, 0, 0, 7, 0, 0]))
    int_ = TYPES["INT"]

    def program(world):
        file = opened(world, path)
        view(file, int_, datarep="external32")
        array = np.full(2, -1, np.int32)
        moved = run("read", file, array)
        opening.close(file)
        return moved, array.tolist()

    assert run_ranks(1, program) == [(4, [7, -1])]


BAD = [
    (datatypes.indexed([1, 1], [3, 1], TYPES["INT"]), ErrorClass.IO, "overlap or decrease"),
    (datatypes.indexed([2, 2], [0, 1], TYPES["INT"]), ErrorClass.IO, "overlap or decrease"),
    (datatypes.indexed([1, 1], [-1, 1], TYPES["INT"]), ErrorClass.IO, "-4, which is negative"),
    (TYPES["BYTE"], ErrorClass.ARG, "1 bytes of data, which is not a multiple of the 4"),
]


@pytest.mark.parametrize(("filetype", "error", "text"), BAD)
def test_a_filetype_that_makes_no_sense_is_refused(tmp_path, filetype, error, text):
    def program(world):
        file = opened(world, tmp_path / "file")
        with pytest.raises(MpiError, match=text) as caught:
            view(file, TYPES["INT"], filetype)
        opening.close(file)
        return caught.value.error_class

    assert run_ranks(1, program) == [error]


def test_a_view_without_data_reads_nothing_and_refuses_to_be_written(tmp_path):
    empty = datatypes.contiguous(0, TYPES["INT"])

    def program(world):
        file = opened(world, tmp_path / "file")
        view(file, TYPES["INT"], empty)
        assert run("read", file, np.zeros(2, np.int32)) == 0
        with pytest.raises(MpiError, match="has no data") as caught:
            run("write", file, np.zeros(2, np.int32))
        opening.close(file)
        return caught.value.error_class, os.path.getsize(tmp_path / "file")

    assert run_ranks(1, program) == [(ErrorClass.IO, 0)]
