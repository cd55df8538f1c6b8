"""`lanai run --device ccu`: MPI programs run on it, over a broadcast wire that loses packets, the
same each time."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).parents[1] / "messages.py"
BAD_WIRE = [
    f"--fault={fault}"
    for fault in (
        "drop * rate=0.04 seed=1",
        "corrupt * rate=0.03 seed=2",
        "duplicate * rate=0.04 seed=3",
        "reorder * rate=0.04 seed=4 by=30us",
    )
]


def on_ccu(ranks, *options, sizes):
    command = ["-q", "-n", ranks, "--device", "ccu", "--fabric", "segment", *options]
    arguments = [*command, sys.executable, PROGRAM, sizes]
    return warm.lanai("run", *arguments, timeout=900)


def fine(run):
    assert run.returncode == 0, run.stderr
    assert all(line.startswith("lanai: fault: ") for line in run.stderr.splitlines())
    return re.fullmatch(r"all there after 0\.\d+ s\n", run.stdout) is not None


@pytest.mark.ci
def test_messages_arrive_over_a_bad_wire():
    assert fine(on_ccu(2, *BAD_WIRE, sizes="1316"))


@pytest.mark.slow
def test_messages_of_all_kinds_arrive_over_a_bad_wire_the_same_each_time():
    runs = [on_ccu(2, *BAD_WIRE, sizes="0,1316,5000") for _ in range(2)]
    assert all(map(fine, runs))
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        (1, []),
        (3, []),
        (8, BAD_WIRE),
        (4, ["--ranks-per-node", 2]),
        (4, ["--option", "packet=100"]),
        (3, ["--option", "packet=1300", "--option", "datagram=8192", "--option", "ack_every=1", *BAD_WIRE]),
    ],
)
def test_messages_of_all_kinds_arrive_whole_and_in_order(ranks, options):
    assert fine(on_ccu(ranks, *options, sizes="0,3,1315,1316,9001"))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["broadcast=0", "resend_all=1", "window=1", "ack_timer=0"])
def test_what_the_paper_leaves_open_changes_no_byte(option):
    assert fine(on_ccu(3, "--option", option, *BAD_WIRE, sizes="100,5000"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-n", 9, "--ranks-per-node", 9], "ccu serves 8 ranks a node, not 9"),
        (["-n", 2, "--option", "packet=1332"], r"CcuOptions.packet=1332 must be a whole number from 64 to 1,331"),
        (["-n", 2, "--option", "window=64"], r"CcuOptions.window=64 must be a whole number from 1 to 63"),
        (["-n", 2, "--option", "datagram=1000"], r"datagram=1000 must be 0, or 1 to 16 packets of 1331 bytes"),
        (["-n", 2, "--option", "datagram=30000"], r"datagram=30000 must be"),
        (["-n", 2, "--option", "system_buffer=1000"], r"CcuOptions.system_buffer=1000 holds no packet of 1331 bytes"),
    ],
)
def test_what_cannot_be_is_refused(arguments, complaint):
    run = warm.lanai("run", "--device", "ccu", *arguments, "true", timeout=300)
    assert run.returncode != 0
    assert re.search(complaint, run.stderr)
