"""`--buffers page`: no buffer crosses more page boundaries than it must. The digest of where
buffers lay."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.job import settings
from lanai_sim.job.buffers import Buffers, digest, environment
from lanai_sim.job.data import JobData

WHERE = """\
import ctypes, json, numpy
from mpi4py import MPI
kept, found = [], []
def add(kind, size, address):
    found.append([kind, size, address % 4096])
for size in [*range(1, 200, 7), 255, 256, 257, 511, 1000, 2048, 4095, 4096, 5000, 70000, 1 << 20]:
    kept += [bytearray(size), numpy.zeros(size, "B"), numpy.empty(size, "B"), ctypes.create_string_buffer(size)]
    add("bytearray", size, ctypes.addressof(ctypes.c_char.from_buffer(kept[-4])))
    add("zeros", size, kept[-3].ctypes.data)
    add("empty", size, kept[-2].ctypes.data)
    assert not kept[-3].any()
grown = bytearray(10)
for _ in range(200):
    grown += b"x" * 100
assert grown == bytearray(10) + b"x" * 20000
add("grown", len(grown), ctypes.addressof(ctypes.c_char.from_buffer(grown)))
world = MPI.COMM_WORLD
world.Sendrecv_replace(bytearray(SIZE), 1 - world.rank)
if world.rank == 0:
    print(json.dumps(found))
"""


def lanai(*options, size=5000):
    program = WHERE.replace("SIZE", str(size))
    command = [
        sys.executable,
        "-m",
        "lanai_sim",
        "run",
        "-n",
        "2",
        "--device",
        "mpi-np",
        *options,
        "python",
        "-c",
        program,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    lay = re.search(r"^lanai: the ranks' buffers lay as ([0-9a-f]{8}) \(--buffers (\w+)\)$", done.stderr, re.M)
    assert lay, done.stderr
    return json.loads(done.stdout), lay[1], lay[2]


def needlessly_crossed(found):
    """Buffers that lie in one page more than they need."""
    return [one for one in found if -(-(one[2] + one[1]) // 4096) > -(-one[1] // 4096)]


@pytest.mark.ci
def test_buffers_cross_no_more_pages_than_they_must():
    found, first, which = lanai("--buffers", "page")
    assert which == "page"
    assert {kind for kind, _, _ in found} == {"bytearray", "zeros", "empty", "grown"}
    assert needlessly_crossed(found) == []
    anywhere, other, which = lanai()
    assert which == "any"
    assert needlessly_crossed(anywhere)
    assert other != first
    assert lanai("--buffers", "page")[1] == first
    assert lanai("--buffers", "page", size=5001)[1] != first


def test_the_digest_is_of_all_ranks():
    assert digest([1234, 5678]) != digest([5678, 1234]) != ""
    assert digest([1234, None]) == ""  # one has not finalized
    assert digest([0, 0]) != ""


def test_a_library_that_the_user_preloads_stays():
    assert environment(Buffers.ANY, {"LD_PRELOAD": "mine.so"}) == {}
    assert environment(Buffers.PAGE, {"LD_PRELOAD": "mine.so"})["LD_PRELOAD"].endswith("page_malloc.so mine.so")


def test_a_file_may_say_so():
    assert settings.job_from({"buffers": "page"}, JobData).buffers is Buffers.PAGE
    with pytest.raises(UserError, match=r"buffers = 'pages' must be one of 'any', 'page'"):
        settings.job_from({"buffers": "pages"}, JobData)


ON = (
    "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); os.execv(sys.executable, "
    "[sys.executable, *sys.argv[2:]])"
)


@pytest.mark.ci
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.parametrize("fork", [[], ["--no-fork"]], ids=["forked", "executed"])
def test_buffers_lie_alike_on_one_processor_and_on_several(fork):
    """How often a rank looks for an answer, and whether it sleeps, changes nothing in its heap."""
    program = Path(__file__).parents[3] / "examples" / "mpi" / "sort.py"
    processors = sorted(os.sched_getaffinity(0))
    lay = set()
    for chosen in (processors[:1], processors):
        options = ["-m", "lanai_sim", "run", "-n", "4", "--device", "mpi-np", *fork, sys.executable, str(program)]
        command = [sys.executable, "-c", ON, ",".join(map(str, chosen)), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        lay |= set(re.findall(r"(took .*) of simulated|buffers lay as (\w+)", done.stderr))
    assert len(lay) == 2, lay  # one time, one digest
