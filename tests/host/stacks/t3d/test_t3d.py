"""`lanai run --device t3d`: MPI programs run on it, the same each time; what it cannot do is
refused."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).parents[1] / "messages.py"
SIZES = "0,3,1023,1024,1025,9001"


def lanai(*arguments):
    return warm.lanai("run", *arguments, timeout=500)


def on_t3d(ranks, *options, sizes=SIZES):
    return lanai("-q", "-n", ranks, "--device", "t3d", *options, sys.executable, PROGRAM, sizes)


@pytest.mark.parametrize("ranks", [1, 3])
def test_messages_of_all_kinds_arrive_whole_and_in_order(ranks):
    run = on_t3d(ranks)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.fullmatch(r"all there after 0\.0\d+ s\n", run.stdout)


@pytest.mark.parametrize(
    "option", ["short=64", *(pytest.param(n, marks=pytest.mark.ci) for n in ("long_sends=1", "reply_pages=1"))]
)
def test_the_sizes_that_the_paper_leaves_open_change_no_byte(option):
    run = on_t3d(2, "--option", option, sizes="100,9001")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
def test_on_a_torus_with_long_messages():
    run = on_t3d(8, "--fabric", "torus:2x2x2", sizes=f"{SIZES},300001")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--ranks-per-node", "2"), "t3d puts one rank on a NIC, not 2; leave out --ranks-per-node"),
        (("--option", "short=1023"), "T3dOptions.short=1023 must be a multiple of 4"),
        (("--option", "short=8"), "short"),
        (("--option", "slots=8"), "has no key 'slots'"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, text):
    run = lanai("-n", "2", "--device", "t3d", *arguments, sys.executable, PROGRAM, "0")
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr
