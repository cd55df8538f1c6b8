"""Damaged and forged traces: every command reports what is wrong in one line, or what the trace
lacks. None ends in a traceback.

A run on NICs is traced once. Then bytes of its file are changed, cut out or doubled; and, with
checksums restarted, what its chunks say is changed as no run would write it.
"""

import json
import random
import sys
import zlib

import pytest
from pairs import some_of

from lanai_sim import cli
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import CHECKED, CHUNK, HEAD, STORED
from lanai_sim.trace.writer import pack, unpack
from openlanai import Job

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


def chunks(data):
    """[tag, rows, content] of each."""
    at, found = HEAD.size, []
    while at < len(data):
        tag, rows, size, _ = CHUNK.unpack_from(data, at)
        found.append([tag, rows, zlib.decompress(data[at + CHUNK.size : at + CHUNK.size + size])])
        at += CHUNK.size + size
    return found


def file_of(data, made):
    parts = [data[: HEAD.size]]
    for tag, rows, content in made:
        stored = zlib.compress(content, 1)
        crc = zlib.crc32(stored, zlib.crc32(CHECKED.pack(tag, rows, len(stored))))
        parts.append(CHUNK.pack(tag, rows, len(stored), crc) + stored)
    return b"".join(parts)


def test_taken_apart_and_put_together_it_is_the_same_trace(whole, tell):
    assert tell(file_of(whole, chunks(whole))) == [""] * len(COMMANDS)


@pytest.mark.parametrize("seed", some_of(4, range(12)))
def test_bytes_changed_anywhere(whole, tell, tmp_path, seed):
    rng = random.Random(seed)
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 3, 30])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    said = tell(bytes(data))
    if not any(said):
        assert not Trace.open(tmp_path / "t").complete


@pytest.mark.parametrize("seed", some_of(4, range(8)))
def test_bytes_cut_out_or_doubled(whole, tell, tmp_path, seed):
    rng = random.Random(seed)
    first, last = sorted(rng.randrange(HEAD.size, len(whole)) for _ in range(2))
    data = whole[:first] + whole[last:] if seed % 2 else whole[:last] + whole[first:]
    said = tell(data)
    if not any(said):
        assert not Trace.open(tmp_path / "t").complete


@pytest.mark.parametrize("seed", some_of(3, range(12)))
def test_whole_chunks_lost_doubled_or_moved(whole, tell, seed):
    rng = random.Random(seed)
    made = chunks(whole)
    which = rng.randrange(len(made))
    if seed % 3 == 0:
        del made[which]
    elif seed % 3 == 1:
        made.insert(rng.randrange(len(made)), made[which])
    else:
        rng.shuffle(made)
    tell(file_of(whole, made))


@pytest.mark.parametrize("tag", sorted(STORED))
@pytest.mark.parametrize("seed", some_of(1, range(2)))
def test_rows_that_no_run_writes(whole, tell, tag, seed):
    """One column of a table gets values of every size; the checksum is right."""
    rng = random.Random(f"{tag}{seed}")
    made = chunks(whole)
    mine = [one for one in made if one[0] == tag]
    if not mine:
        pytest.skip("this run wrote none")
    one = rng.choice(mine)
    table = unpack(one[2], STORED[tag], one[1])
    for name in rng.sample(table.dtype.names, rng.choice([1, len(table.dtype.names)])):
        column = table[name].view(f"u{table[name].dtype.base.itemsize}")
        for _ in range(rng.choice([1, len(table)])):
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
            column[rng.randrange(len(table))] = value
    one[2] = pack(table)
    tell(file_of(whole, made))


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
    made = chunks(whole)
    texts = [one for one in made if one[0] not in STORED]
    one = texts[0] if seed % 2 else rng.choice(texts)
    one[2] = json.dumps(spoiled(json.loads(one[2]), rng)).encode() if seed % 5 else rng.randbytes(50)
    tell(file_of(whole, made))


def test_a_source_that_is_no_text(whole, tell):
    made = chunks(whole)
    meta = json.loads(made[0][2])
    meta["firmware"]["files"] = dict.fromkeys(meta["firmware"]["files"])
    made[0][2] = json.dumps(meta).encode()
    assert all("beginning is damaged (firmware" in said for said in tell(file_of(whole, made)))


@pytest.mark.parametrize("tag", [b"PRX ", b"PTX "])
def test_a_packet_of_gigabytes(whole, tell, tag, tmp_path):
    made = chunks(whole)
    one = next(one for one in made if one[0] == tag)
    table = unpack(one[2], STORED[tag], one[1])
    table["words"] = (1 << 32) - 1
    one[2] = pack(table)
    tell(file_of(whole, made))
    (tmp_path / "t").write_bytes(file_of(whole, made))
    assert f"{tag.decode().strip()} at byte" in Trace.open(tmp_path / "t").missing[0]


def test_a_chunk_that_grows_without_end_takes_no_memory(whole, tell, tmp_path):
    """A few kilobytes that uncompress to a gigabyte, where a hundred bytes are promised."""
    made = chunks(whole)
    index = next(number for number, one in enumerate(made) if one[0] == b"CEND")
    stored = zlib.compress(bytes(1 << 26), 9)
    before = file_of(whole, made[:index])
    crc = zlib.crc32(stored, zlib.crc32(CHECKED.pack(b"CEND", 1, len(stored))))
    tell(before + CHUNK.pack(b"CEND", 1, len(stored), crc) + stored)
    (tmp_path / "t").write_bytes(before + CHUNK.pack(b"CEND", 1, len(stored), crc) + stored)
    assert "1 rows take 12 bytes, not 13" in Trace.open(tmp_path / "t").missing[0]
