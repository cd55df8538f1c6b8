"""A program started by another launcher: a world of one rank that says so once."""

import json
import os
import re
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from lanai_host import real_time
from lanai_host.abi.programs import environment
from lanai_host.connect import LAUNCHERS, foreign_launcher
from lanai_host.orders import ALL, DONE, LAST, MATCH, PLAN, SEND, WAITS, Choice, Orders, orders_of, record_file

PROGRAM = "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"


@pytest.mark.parametrize(("size", "rank"), LAUNCHERS)
def test_the_first_process_of_another_launcher_tells(size, rank):
    text = foreign_launcher({size: "4", rank: "0"})
    assert f"{size}=4" in text
    assert "lanai run -n 4 PROGRAM" in text
    assert foreign_launcher({size: "4", rank: "1"}) is None
    assert foreign_launcher({size: "1", rank: "0"}) is None
    assert foreign_launcher({size: "", rank: ""}) is None


def test_a_program_by_itself_is_told_nothing():
    assert foreign_launcher({}) is None


@pytest.mark.parametrize(("rank", "told"), [("0", 1), ("1", 0)])
def test_it_is_said_once_on_stderr(rank, told):
    variables = {
        **os.environ,
        **environment(Path(sys.executable)),
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": rank,
    }
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, timeout=120, check=True
    )
    assert answer.stdout == "1\n"
    assert answer.stderr.count("OMPI_COMM_WORLD_SIZE=2: another launcher has started 2 processes") == told


# The choices of a rank: planned, preferred and recorded.


@pytest.fixture
def orders(tmp_path):
    def made(*plan, rank=0):
        (tmp_path / PLAN).write_text(json.dumps(plan))
        return Orders(tmp_path, rank)

    return made


def test_a_plan_names_choices_by_rank_kind_and_number(orders):
    plan = (Choice(0, MATCH, 1, 2), Choice(1, MATCH, 0, 3))
    ours = orders(*plan)
    assert ours.planned(MATCH) is None
    ours.made(MATCH, 1, [1, 2])
    assert ours.planned(MATCH) == 2
    assert orders(*plan, rank=1).planned(MATCH) == 3


@pytest.mark.parametrize(("value", "taken"), [(None, 4), (2, 2), (9, 4), (LAST, 3)])
def test_a_sender_may_be_preferred_for_all_matches(orders, value, taken):
    plan = [] if value is None else [Choice(ALL, MATCH, ALL, value)]
    assert orders(*plan).preferred([4, 2, 3]) == taken


def test_one_send_or_all_of_them_wait(orders):
    one = orders(Choice(0, SEND, 1, WAITS))
    assert [one.waits(1, 0) for _ in range(3)] == [False, True, False]
    every = orders(Choice(ALL, SEND, ALL, WAITS), rank=5)
    assert every.waits(1, 0)
    assert every.waits(1, 0)


def test_a_completion_gives_the_first_or_all_unless_planned(orders):
    assert orders().one_of("MPI_Waitany", [3, 5]) == 3
    assert orders().one_of("MPI_Waitsome", [3, 5], several=True) == ALL
    assert orders(Choice(0, DONE, 0, 5)).one_of("MPI_Waitany", [3, 5]) == 5


def test_what_could_not_be_followed_is_recorded(orders, tmp_path):
    ours = orders(Choice(0, DONE, 0, 7))
    assert ours.one_of("MPI_Waitany", [3, 5]) == 3
    ours.late(0, 4, 2)
    done, late = map(json.loads, record_file(tmp_path, 0).read_text().splitlines())
    assert (done["v"], done["of"], done["missed"]) == (3, [3, 5], 7)
    assert (late["n"], late["of"]) == (0, 4)


def test_without_the_variable_nothing_is_explored(monkeypatch):
    monkeypatch.delenv("LANAI_ORDERS", raising=False)
    assert orders_of(0) is None


# The library goes by real time though the clocks of its process may be simulated.

CLOCK = re.compile(r"(?<!real_)\btime\.(time|monotonic|perf_counter|sleep)(_ns)?\(")
NOT_IN_RANKS = {"bus/serial.py"}  # a board is not a simulation


def test_real_time_passes():
    begun, before = real_time.monotonic(), time.monotonic()
    real_time.sleep(0.02)
    assert real_time.monotonic() - begun >= 0.02
    assert abs(before - begun) < 1


def test_the_library_reads_no_clock_that_may_be_simulated():
    root = Path(str(files("lanai_host")))
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if CLOCK.search(path.read_text())}
    assert found == NOT_IN_RANKS
