"""A job is data: each member comes back from JSON, and what cannot be is refused with what would be right."""

import concurrent.futures
import inspect
import json
import pickle
from dataclasses import fields
from pathlib import Path

import pytest

import openlanai
from lanai_host.clocks.library import Clock
from lanai_host.errors import UserError
from lanai_host.stacks import names, stack
from lanai_sim.job.data import Buffers, Program, WaveConfig
from lanai_sim.job.job import Job
from lanai_sim.job.restart.plan import Checkpoint, Kill
from lanai_sim.job.result import Ending, Result
from lanai_sim.machine.machine import Machine
from lanai_sim.units import format_time

DEFAULT = Job(("true",))
CHANGED = {
    "program": ("python", "-c", "print('a b')"),
    "ranks": 3,
    "device": "sci",
    "machine": Machine("t3d", "torus:2x2", "free", ["drop nic0 packet=3"]),
    "options": stack("ideal").presets["unlimited"](),
    "universe": 4,
    "ranks_per_node": 2,
    "engine": "pysim",
    "board": "ulx3s-45f",
    "threads": 2,
    "skip": False,
    "snapshot": False,
    "kills": (Kill(0, 1_234_567),),
    "checkpoint": Checkpoint(2_000_000_001),
    "wave": WaveConfig("run.vcd", (0, 1), 5, 7_000),
    "trace": "run.trace",
    "inputs": (1, Path("inputs.bin")),
    "max_sim_time": 123_456_789_012_345,
    "max_wall": 2.5,
    "fork": False,
    "survive": True,
    "prefix": True,
    "capture": True,
    "output_folder": "log",
    "buffers": next(one for one in Buffers if one is not DEFAULT.buffers),
    "clock": Clock.REAL,
    "progress": True,
    "environment": {"A": "b"},
    "programs": (Program(("true",), 1), Program(("false", "x"), 2, {"C": "d"}, "/tmp")),
    "rank_variables": ("PMI_RANK",),
}
NEEDS = {"board": {"device": "mpi-np"}}  # what a member needs beside it: `ideal` has no NICs


def test_a_change_of_every_member_is_tried():
    assert [*CHANGED] == [field.name for field in fields(Job)]


@pytest.mark.parametrize("name", CHANGED)
def test_json_brings_every_member_back(name):
    job = DEFAULT.but(**NEEDS.get(name, {}), **{name: CHANGED[name]})
    assert job != DEFAULT
    assert Job.from_json(job.to_json()) == job
    assert pickle.loads(pickle.dumps(job)) == job


@pytest.mark.parametrize("device", names())
def test_json_brings_the_options_of_every_preset_back(device):
    for preset, make in stack(device).presets.items():
        job = Job("true", 2, device, options=preset)
        assert job.options == make()
        assert Job.from_json(job.to_json()) == job


def test_a_member_may_be_written_as_users_write_it():
    job = Job(
        "python 'my ring.py' 5", 4, "ideal",
        options={"latency": 5}, kills=["kill rank2 at=3ms"], checkpoint="every=2ms",
        max_sim_time="20ms", buffers="page", clock="real", wave="run.vcd", trace=Path("run.trace"),
    )  # fmt: skip
    assert job.program == ("python", "my ring.py", "5")
    assert (job.options.latency, job.kills, job.checkpoint) == (5, (Kill(2, 3 * 10**9),), Checkpoint(2 * 10**9))
    assert (job.max_sim_time, job.buffers, job.clock) == (20 * 10**9, Buffers.PAGE, Clock.REAL)
    assert (job.wave, job.trace) == (WaveConfig("run.vcd"), "run.trace")


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"ranks": 0}, "ranks = 0 is not a count"),
        ({"ranks": "4"}, "ranks = '4' must be a whole number"),
        ({"device": "mpinp"}, r"device 'mpinp' is not known; did you mean 'mpi-np'\?"),
        ({"engine": "rlt"}, r"engine 'rlt' is not known; did you mean 'rtl'\?"),
        ({"buffers": "pages"}, "buffers = 'pages' must be one of 'any', 'page'"),
        ({"options": {"latncy": 5}}, r"no key 'latncy'; did you mean 'latency'\?"),
        ({"options": "unlimted"}, r"did you mean 'unlimited'\?"),
        ({"ranks": 4, "universe": 2}, "universe = 2 is less than the 4 ranks"),
        ({"max_wall": 0}, "max_wall = 0 must be a positive number"),
        ({"max_sim_time": "20"}, "'20' is not a time"),
    ],
)
def test_what_cannot_be_is_refused(members, complaint):
    with pytest.raises(UserError, match=complaint):
        Job("true", **members)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("rank", 4, r"no key 'rank'; did you mean 'ranks'\?"),
        ("program", "true", "program = 'true' is not understood; write a list"),
        ("environment", {"A": 5}, "environment: A = 5 must be a text"),
        ("environment", {"A": "b\0"}, r"a variable or its value, 'b\\x00', cannot be passed to a process"),
        ("environment", {"A=B": "c"}, "'A=B' is not the name of a variable"),
        ("program", ["echo", "a\0b"], r"an argument of the program, 'a\\x00b', cannot be passed to a process"),
        ("program", ["echo", "\ud800"], r"an argument of the program, '\\ud800', cannot be passed to a process"),
        ("programs", [{"command": ["true"], "ranks": 0}], "ranks = 0 of 'true' is not a count"),
        ("programs", [{"command": ["a\0"], "ranks": 1}], r"an argument of the program, 'a\\x00', cannot be passed"),
        ("programs", [{"comand": ["true"]}], r"no key 'comand'; did you mean 'command'\?"),
        ("inputs", {"node": 0}, r"\[inputs\]: file = None must be a text"),
        ("wave", {"file": "x", "form": "1us"}, r"no key 'form'; did you mean 'from'\?"),
    ],
)
def test_json_that_is_no_job_is_refused(key, value, complaint):
    with pytest.raises(UserError, match=complaint):
        Job.from_json(json.dumps({**json.loads(DEFAULT.to_json()), key: value}))


@pytest.mark.parametrize("kind", [Job, Result])
def test_json_that_is_too_deep_is_refused(kind):
    with pytest.raises(UserError, match="cannot be read from JSON: maximum recursion depth exceeded"):
        kind.from_json("[" * 100_000)


def test_but_changes_members_of_the_job_and_of_its_machine():
    job = Job("true", 2, "sci", Machine("sci_d330"), options={"chunk": 4096})
    other = job.but(ranks=3, options={"ring": 8}, host={"match": 7}, nic={"link_latency": 12}, faults=["drop * rate=1"])
    assert (other.ranks, other.options.chunk, other.options.ring) == (3, 4096, 8)
    assert other.machine.host == job.machine.host.but(match=7)
    assert other.machine.nic == job.machine.nic.but(link_latency=12)
    assert str(other.machine.faults[0]) == "drop * rate=1.0"
    assert job.but(options={"preset": "default", "ring": 8}).options.chunk != 4096
    assert job.but(device="ideal", options={"latency": 5}).options.latency == 5
    with pytest.raises(UserError, match=r"Job has no key 'fabrics'; did you mean 'fabric'\?"):
        job.but(fabrics="ring")
    with pytest.raises(UserError, match=r"\[sci\] has no key 'rings'; did you mean 'ring'\?"):
        job.but(options={"rings": 8})


def test_equal_jobs_have_one_hash():
    others = {name: value for name, value in CHANGED.items() if name != "board"}  # the engine pysim has none
    job, on_board = DEFAULT.but(**others), DEFAULT.but(**NEEDS["board"], board=CHANGED["board"])
    assert len({job, DEFAULT.but(**others), DEFAULT, Job("true"), on_board, on_board.but()}) == 3
    assert hash(pickle.loads(pickle.dumps(job))) == hash(job)


def test_a_mistyped_argument_is_told_in_the_jobs_name():
    with pytest.raises(UserError, match="Job has no key 'rank'; did you mean 'ranks'"):
        Job("true", rank=4)
    assert list(inspect.signature(Job).parameters)[:4] == ["program", "ranks", "device", "machine"]


def test_notebooks_show_a_job_and_its_machine():
    shown = Job("echo <a>", 2, "sci", Machine("t3d", faults=["drop nic0 packet=3"]), prefix=True)._repr_html_()
    for name, value in {
        "program": "echo &#x27;&lt;a&gt;&#x27;", "ranks": 2, "device": "sci", "prefix": True,
        "nic": "t3d", "fabric": "switch", "host": "pentium2_266", "faults": "drop nic0 packet=3",
    }.items():  # fmt: skip
        assert f"<tr><th>{name}</th><td>{value}</td></tr>" in shown
    assert "<caption>Machine</caption>" in Machine()._repr_html_()


# Runs beside the program: `Job.start`, and the executor of functions.


RING = ("python", "-c", "from mpi4py import MPI; c = MPI.COMM_WORLD; c.sendrecv(1, 1 - c.rank, source=1 - c.rank)")
BUSY = "from mpi4py import MPI\nimport sys\nMPI.COMM_WORLD.Barrier()\nprint('up', file=open(sys.argv[1], 'w'))\n"


def rank(offset):
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank + offset


def fail():
    raise ValueError("no")


def wait(path):
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank == 0:
        path.touch()
    while True:
        pass


def come(path, run):
    """Wait until the ranks have begun."""
    while not path.exists():
        assert not run.done(), run
    return path


def test_a_run_beside_the_program_gives_the_result_of_run():
    job = Job(RING, 2)
    with job.start() as run:
        result = run.result(timeout=500)
    assert result == job.run()
    assert run.done()
    assert run.sim_time == result.sim_time > 0
    assert run.progress == f"ended at {format_time(result.sim_time)}"
    assert repr(run) == f"<Running: {run.progress}>"
    assert run.result() is result


def test_a_run_tells_how_it_gets_on_and_can_be_cancelled(tmp_path):
    with Job(("python", "-c", f"{BUSY}while True: pass", str(tmp_path / "up")), 2).start() as run:
        come(tmp_path / "up", run)
        assert "simulated in" in run.progress
        assert "0: runs" in run.progress
        run.cancel()
        result = run.result(timeout=500)
    assert (result.ending, result.ok) == (Ending.INTERRUPTED, False)
    assert result.report.startswith("interrupted by cancel()")


def test_leaving_the_context_ends_the_ranks(tmp_path):
    with Job(("python", "-c", f"{BUSY}while True: pass", str(tmp_path / "up")), 1).start(capture=True) as run:
        come(tmp_path / "up", run)
    assert run.done()
    assert run.result().exits == (-15,)


def test_what_cannot_be_started_is_told_by_the_result():
    run = Job("nosuchprogram").start()
    with pytest.raises(openlanai.UserError, match="nosuchprogram"):
        run.result(timeout=500)
    assert run.sim_time == 0


def test_an_executor_gives_results_by_rank():
    with openlanai.Executor(ranks=2, max_workers=2) as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        assert list(executor.map(rank, [0, 10, 20])) == [[0, 1], [10, 11], [20, 21]]
        error = executor.submit(fail).exception()
    assert isinstance(error, openlanai.RankError)
    assert isinstance(error.__cause__, ValueError)


def test_an_executor_ends_the_runs_under_way(tmp_path):
    executor = openlanai.Executor(ranks=2, max_workers=1, environment={"A": "b"})
    first, second = executor.submit(wait, tmp_path / "up"), executor.submit(rank, 0)
    come(tmp_path / "up", first)
    executor.shutdown(cancel_futures=True)
    assert second.cancelled()
    assert isinstance(first.exception(), openlanai.RunFailed)
    with pytest.raises(RuntimeError):
        executor.submit(rank, 0)
