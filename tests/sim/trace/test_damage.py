"""Damaged and forged traces: every command reports what is wrong in one line, or what the trace
lacks. None ends in a traceback.

A run on NICs is traced once. Then bytes of its file are changed, cut out or doubled; and, with
checksums that fit, what its members say is changed as no run would write it.
"""

import io
import json
import random
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from pairs import some_of

from lanai_sim import cli
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import STORED
from openlanai import Job

from .test_file import zip_of

PROGRAM = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
for size in (4, 6000):
    data = bytearray(size)
    if comm.rank == 0: comm.Send(data, 1); comm.Recv(data, 1)
    else: comm.Recv(data, 0); comm.Send(data, 0)
"""
COMMANDS = (["report", "--html", "page.html"], ["profile"], ["matrix"], ["timeline", "-o", "t.pftrace"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "whole"
    assert Job((sys.executable, "-c", PROGRAM), 2, "mpi-np", trace=str(path)).run().code == 0
    assert Trace.open(path).complete
    return path.read_bytes()


@pytest.fixture
def tell(tmp_path, monkeypatch, capsys):
    """`tell(data)`: run every command on such a file; what was lacking, or the error's line."""
    monkeypatch.chdir(tmp_path)

    def command(data):
        (tmp_path / "t").write_bytes(data)
        said = []
        for name, *options in COMMANDS:
            code = cli.main(["trace", name, "t", *options])
            error = capsys.readouterr().err
            assert code in (0, 2), error
            assert (code == 2) == error.startswith("lanai: error: "), error
            assert error.count("\n") == (code == 2), error
            assert len(error) < 300
            said.append(error)
        return said

    return command


def members(data):
    """[name, content] of each."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [[name, archive.read(name)] for name in archive.namelist()]


def of_table(made, tag):
    """The members that have rows of a table."""
    return [one for one in made if f".{tag.decode().strip()}." in one[0]]


def columns_of(one):
    return np.lib.format.read_array(io.BytesIO(one[1]))


def set_columns(one, columns):
    place = io.BytesIO()
    np.lib.format.write_array(place, columns)
    one[1] = place.getvalue()


def sound_or_the_same(path, whole, said):
    """A change that nobody noticed changed no row: a byte of a zip's directory, or of a member's date."""
    if not any(said) and (trace := Trace.open(path)).complete:
        (path.parent / "whole").write_bytes(whole)
        expected = Trace.open(path.parent / "whole")
        assert (trace.meta, trace.names, trace.outcome) == (expected.meta, expected.names, expected.outcome)
        assert all((trace.stored(tag) == expected.stored(tag)).all() for tag in STORED)


def test_taken_apart_and_put_together_it_is_the_same_trace(whole, tell):
    assert tell(zip_of(*members(whole))) == [""] * len(COMMANDS)


@pytest.mark.parametrize("seed", some_of(4, range(12)))
def test_bytes_changed_anywhere(whole, tell, tmp_path, seed):
    rng = random.Random(seed)
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 3, 30])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    sound_or_the_same(tmp_path / "t", whole, tell(bytes(data)))


@pytest.mark.parametrize("seed", some_of(4, range(8)))
def test_bytes_cut_out_or_doubled(whole, tell, tmp_path, seed):
    rng = random.Random(seed)
    first, last = sorted(rng.randrange(4, len(whole)) for _ in range(2))
    data = whole[:first] + whole[last:] if seed % 2 else whole[:last] + whole[first:]
    sound_or_the_same(tmp_path / "t", whole, tell(data))


@pytest.mark.parametrize("seed", some_of(3, range(12)))
def test_whole_members_lost_doubled_or_moved(whole, tell, seed):
    rng = random.Random(seed)
    made = members(whole)
    which = rng.randrange(len(made))
    if seed % 3 == 0:
        del made[which]
    elif seed % 3 == 1:
        made.insert(rng.randrange(len(made)), made[which])
    else:
        rng.shuffle(made)
    tell(zip_of(*made))


@pytest.mark.parametrize("tag", sorted(STORED))
@pytest.mark.parametrize("seed", some_of(1, range(2)))
def test_rows_that_no_run_writes(whole, tell, tag, seed):
    """One column of a table gets values of every size; the checksum is right."""
    rng = random.Random(f"{tag}{seed}")
    made = members(whole)
    mine = of_table(made, tag)
    if not mine:
        pytest.skip("this run wrote none")
    one = rng.choice(mine)
    table = columns_of(one)
    for name in rng.sample(table.dtype.names, rng.choice([1, len(table.dtype.names)])):
        column = table[name].view(f"u{table[name].dtype.base.itemsize}")
        for _ in range(rng.choice([1, len(column)])):
            value = rng.choice(
                [
                    0,
                    1,
                    7,
                    (1 << 8 * column.itemsize) - 1,
                    1 << 8 * column.itemsize - 1,
                    rng.getrandbits(8 * column.itemsize),
                ]
            )
            column[rng.randrange(len(column))] = value
    set_columns(one, table)
    tell(zip_of(*made))


def spoiled(value, rng):
    """A JSON value with one part of it replaced."""
    other = rng.choice([None, -1, 1 << 40, 1e300, "text", [], {}, [None], True])
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value))
        return {**value, key: spoiled(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], spoiled(value[at], rng), *value[at + 1 :]]
    return other


@pytest.mark.parametrize("seed", some_of(6, range(24)))
def test_texts_that_no_run_writes(whole, tell, seed):
    rng = random.Random(seed)
    made = members(whole)
    texts = [one for one in made if one[0].endswith("json")]
    one = texts[0] if seed % 2 else rng.choice(texts)
    one[1] = json.dumps(spoiled(json.loads(one[1]), rng)).encode() if seed % 5 else rng.randbytes(50)
    tell(zip_of(*made))


def test_a_source_that_is_no_text(whole, tell):
    made = members(whole)
    meta = json.loads(made[0][1])
    meta["firmware"]["files"] = dict.fromkeys(meta["firmware"]["files"])
    made[0][1] = json.dumps(meta).encode()
    assert all("beginning is damaged (firmware" in said for said in tell(zip_of(*made)))


@pytest.mark.parametrize("tag", [b"PRX ", b"PTX "])
def test_a_packet_of_gigabytes(whole, tell, tag, tmp_path):
    made = members(whole)
    one = of_table(made, tag)[0]
    table = columns_of(one)
    table["words"][:] = (1 << 32) - 1
    set_columns(one, table)
    tell(zip_of(*made))
    (tmp_path / "t").write_bytes(zip_of(*made))
    assert f"{one[0]}: damaged" in Trace.open(tmp_path / "t").missing[0]


def test_a_member_that_grows_without_end_takes_no_memory(whole, tell, tmp_path):
    """A few kilobytes that uncompress to megabytes, where the head promises a hundred bytes."""
    made = members(whole)
    (one, *_) = of_table(made, b"CEND")
    size, one[1] = len(one[1]), bytes(1 << 26)
    data = zip_of(*made, level=9)
    head = data.index(one[0].encode()) - 30
    data = data[: head + 22] + size.to_bytes(4, "little") + data[head + 26 :]
    tell(data)
    tracemalloc.start()
    assert f"{one[0]}: damaged (its checksum differs" in Trace.open(tmp_path / "t").missing[0]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 25


@pytest.mark.parametrize(
    "columns",
    [np.zeros(3), np.zeros((), [("id", "<i4", (2,)), ("end", "<i8", (2,))]), np.zeros(2, [("id_diff", "<i4", (2,))])],
)
def test_an_array_that_is_no_table(whole, tell, columns, tmp_path):
    made = members(whole)
    one = of_table(made, b"CEND")[0]
    set_columns(one, columns)
    tell(zip_of(*made))
    assert f"{one[0]}: damaged (it has other columns than CEND" in Trace.open(tmp_path / "t").missing[0]
