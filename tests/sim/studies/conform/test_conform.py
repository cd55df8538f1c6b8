"""Reading what unittest printed, comparing with MPICH, and a small part of mpi4py's suite."""

import argparse

import pytest

from lanai_host.errors import UserError
from lanai_host.stacks import stack
from lanai_sim.job.result import Ending, Exit, Result
from lanai_sim.studies.conform import command as conform
from lanai_sim.studies.conform import jobs, page, suite
from lanai_sim.studies.conform import jobs as kept
from lanai_sim.studies.conform import jobs as outcome

PRINTED = """\
[0] testOne (test_x.TestA.testOne) ... FAIL
[1] testOne (test_x.TestA.testOne) ... FAIL
[0] testTwo (test_x.TestA.testTwo) ... [1] testTwo (test_x.TestA.testTwo) ... ERROR
[0] ok
[0] testThree (test_x.TestA.testThree) ... skipped 'not here'
[0] testFour (test_y.TestB.testFour) ...\x20
[1] testFour (test_y.TestB.testFour) ... skipped 'nor here'
[0] skipped 'nor here'
[0] testFive (test_y.TestB.testFive) ... ok
[0] ======
[0] FAIL: testOne (test_x.TestA.testOne)
[1] FAIL: testOne (test_x.TestA.testOne)
[1] ERROR: testTwo (test_x.TestA.testTwo) [subtest]
[0] Ran 5 tests in 0.010s
[1] Ran 5 tests in 0.010s
[0] FAILED (failures=1, skipped=2)
[1] FAILED (failures=1, errors=1, skipped=2)
"""
FAILED = ["test_x.TestA.testOne", "test_x.TestA.testTwo"]
SKIPPED = ["test_x.TestA.testThree", "test_y.TestB.testFour"]


def test_a_test_failed_if_it_did_on_any_rank():
    read = outcome.read("test_x", PRINTED, 1, 2)
    assert (read.run, read.passed) == (5, 1)
    assert read.failed == FAILED
    assert read.skipped == SKIPPED
    assert not read.trouble


def test_modules_of_one_job_are_told_apart():
    read = outcome.read("all", PRINTED, 1, 2)
    x, y = outcome.by_module(read, ["test_x", "test_y"], PRINTED)
    assert (x.run, x.failed, x.skipped) == (3, FAILED, SKIPPED[:1])
    assert (y.run, y.failed, y.skipped) == (2, [], SKIPPED[1:])


def test_a_module_that_did_not_end_is_a_failure():
    text = "[0] ..\nlanai: deadlock at 1.0 us: all ranks wait\n"
    read = outcome.read("test_x", text, 3, 2)
    assert read.trouble.startswith("lanai: deadlock")
    assert outcome.figures([read])["mpi4py.failed"] == 1
    assert "did not end" in page.page([read], 2, "ideal", "lanai dev conform mpi4py")


def test_what_differs_from_mpich_is_listed_by_name():
    ours = [
        outcome.Outcome("test_x", 5, skipped=["test_x.A.s"], failed=["test_x.A.f"]),
        outcome.Outcome("test_y", trouble="!"),
    ]
    theirs = [outcome.Outcome("test_x", 5, failed=["test_x.A.f", "test_x.A.g"]), outcome.Outcome("test_y", 2)]
    found = page.compare("MPICH 5.0", "MPICH", ours, theirs)
    assert found.only_fail_here == ["test_y"]
    assert found.only_fail_there == ["test_x.A.g"]
    assert found.only_skipped_here == ["test_x.A.s"]
    written = page.page(ours, 2, "ideal", "lanai dev conform mpi4py", found)
    assert "## Against MPICH 5.0" in written
    assert "1 test fails on MPICH and not here:\n\n- `test_x.A.g`" in written
    assert "1 test is skipped here and not on MPICH:\n\n- `test_x.A.s`" in written
    assert "0 tests are skipped on MPICH and not here.\n" in written


def test_a_page_has_a_column_for_each_number_of_ranks(tmp_path, monkeypatch, capsys):
    def run(runner, names, ranks, limit):
        yield outcome.Outcome(names[0], 3, skipped=["test_op.A.s"] if ranks == 1 else [], failed=["f"] * (ranks == 4))

    monkeypatch.setattr(conform.jobs, "run", run)
    options = ["mpi4py", "--module", "test_op", "--resume", str(tmp_path / "kept")]
    parser = argparse.ArgumentParser()
    conform.add_arguments(parser)
    assert conform.run(parser.parse_args([*options, "-n", "1,2", "--page", str(tmp_path / "page")])) == 0
    written = (tmp_path / "page").read_text()
    assert "| module | 1 | 2 |\n|---|---:|---:|\n| test_op | 2, 1 skipped | 3 |\n" in written
    assert written.endswith("| **all** | **2, 1 skipped** | **3** |\n")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["ideal.1.json", "ideal.2.json"]
    assert conform.run(parser.parse_args([*options, "-n", "2,4"])) == 1
    assert page.page_of_ranks({2: [outcome.Outcome("test_x", 5)], 3: []}, "ideal", "").count("| test_x | 5 | - |") == 1
    for wrong in ("0", "1,0", "two", "2,2"):
        with pytest.raises(UserError, match=f"-n {wrong}: "):
            parser.parse_args(["mpi4py", "-n", wrong])
    with pytest.raises(UserError, match="-n 1,2: --against"):
        conform.run(parser.parse_args(["programs", "-n", "1,2"]))


def test_of_nics_it_is_told_how_fast_they_were_simulated():
    ours = [
        outcome.Outcome("test_x", 5, seconds=2, simulated=1.5, cycles=50_000),
        outcome.Outcome("test_y", 1, seconds=3, simulated=2, cycles=70_000),
    ]
    totals = outcome.figures(ours)
    assert totals["mpi4py.simulated_ms"] == 3.5
    assert totals["mpi4py.wall_seconds"] == 5
    assert totals["mpi4py.nic_cycles_per_second"] == 24_000
    assert outcome.speed(totals) == "3.5 ms of simulated time in 5 s of real time: 24,000 NIC cycles/s"
    written = page.page(ours, 2, "mpi-np", "lanai dev conform mpi4py")
    assert "| test_x | 5 | 5 | 0 | 0 | 1.5 |\n" in written
    assert "| **all** | **6** | **6** | **0** | **0** | **3.5** |\n\n3.5 ms of simulated time in 5 s" in written


def test_a_suite_goes_on_where_it_was_interrupted(tmp_path):
    ran = []

    def run(name):
        if name == "test_z":
            raise KeyboardInterrupt
        ran.append(name)
        trouble = "deadlock" if ran.count(name) < 2 and name == "test_w" else ""
        return outcome.Outcome(name, 3, skipped=[f"{name}.A.s"], seconds=1.5, trouble=trouble)

    with pytest.raises(KeyboardInterrupt):
        list(kept.OutcomeFile(tmp_path, "mpi-np", 2).go_on(["test_x", "test_w", "test_z"], run))
    assert kept.OutcomeFile(tmp_path, "mpi-np", 2).ended() == {"test_x"}
    found = list(kept.OutcomeFile(tmp_path, "mpi-np", 2).go_on(["test_x", "test_y", "test_w"], run))
    assert ran == ["test_x", "test_w", "test_y", "test_w"]  # what did not come to its end is run again
    assert [(one.module, one.passed, one.seconds) for one in found] == [(f"test_{x}", 2, 1.5) for x in "xyw"]
    file = tmp_path / "mpi-np.2.json"
    assert '\n"test_y": {"run": 3, "skipped": ["test_y.A.s"], "seconds": 1.5}' in file.read_text()


def test_a_signal_ends_the_suite_and_not_one_module(tmp_path, monkeypatch):
    class Interrupted:
        def run(self):
            return Result(Exit.INTERRUPTED, 0, "interrupted by SIGTERM", ending=Ending.INTERRUPTED)

    monkeypatch.setattr(jobs, "job", lambda *arguments: Interrupted())
    store = kept.OutcomeFile(tmp_path, "ideal", 2)
    with pytest.raises(KeyboardInterrupt):
        list(
            store.go_on(["test_a", "test_b"], lambda name: jobs.run_job(jobs.simulated("ideal"), name, [name], 2, 9)[0])
        )
    assert not store.ended()


def test_kept_outcomes_belong_to_one_device_and_number_of_ranks(tmp_path):
    assert not kept.OutcomeFile(tmp_path, "mpi-np", 2).ended()
    list(kept.OutcomeFile(tmp_path, "mpi-np", 2).go_on(["test_x"], outcome.Outcome))
    assert not kept.OutcomeFile(tmp_path, "mpi-np", 3).ended()
    assert not kept.OutcomeFile(tmp_path, "ideal", 2).ended()
    (tmp_path / "mpi-np.2.json").rename(tmp_path / "mpi-np.3.json")
    with pytest.raises(UserError, match=r"'ranks': 2}, this run of .*'ranks': 3}; name another directory"):
        kept.OutcomeFile(tmp_path, "mpi-np", 3)
    (tmp_path / "mpich-5.0.2.2.json").write_text("[]")
    with pytest.raises(UserError, match=r"mpich-5.0.2.2.json' holds no outcomes"):
        kept.OutcomeFile(tmp_path, "MPICH 5.0.2", 2)
    with pytest.raises(UserError, match="is not a directory"):
        kept.OutcomeFile(tmp_path / "mpi-np.3.json", "mpi-np", 3)


def test_a_page_grows_module_by_module(tmp_path, monkeypatch, capsys):
    """Outcomes that were kept are on the page of each later run, and are not run again."""
    ran = []

    def run(runner, names, ranks, limit):
        ran.append(names[0])
        yield outcome.Outcome(names[0], 3)

    monkeypatch.setattr(conform.jobs, "run", run)
    parser = argparse.ArgumentParser()
    conform.add_arguments(parser)
    written = tmp_path / "page"
    for module in ("test_op", "test_info"):
        options = ["mpi4py", "--module", module, "--resume", str(tmp_path / "kept"), "--page", str(written)]
        assert conform.run(parser.parse_args(options)) == 0
    assert ran == ["test_op", "test_info"]
    text = written.read_text()
    assert "| test_info | 3 | 3 | 0 | 0 |\n| test_op | 3 | 3 | 0 | 0 |\n| **all** | **6** |" in text
    assert f"Modules were run at different times, each as the library was then. `{tmp_path / 'kept'}` keeps" in text
    assert "## Not run\n\nModules that were not run:\n\n- `test_address`\n" in text
    assert "- `test_op`" not in text


def test_what_is_left_out_is_named_with_its_reason():
    assert page.page([], 2, "ideal", "lanai dev conform mpi4py").endswith("## Left out\n\nNothing.\n")
    assert page.page([], 2, "mpi-np", "lanai dev conform mpi4py").endswith("## Left out\n\nNothing.\n")
    written = page.page([], 2, "t3d", "lanai dev conform mpi4py")
    assert "- `test_spawn`: it starts more than a hundred processes" in written
    ran = page.page([outcome.Outcome("test_spawn", 5)], 2, "t3d", "lanai dev conform mpi4py")
    assert "it starts more than a hundred" not in ran


def test_heavy_modules_get_more_time(monkeypatch):
    given = {}
    monkeypatch.setattr(
        jobs, "run_job", lambda runner, title, names, ranks, limit: given.setdefault(title, limit) and (title, "")
    )
    assert list(jobs.run(jobs.simulated("ideal"), ["test_p2p_buf", "test_util_dtlib"], 2, 10)) == [
        "test_p2p_buf",
        "test_util_dtlib",
    ]
    assert given == {"test_p2p_buf": 10, "test_util_dtlib": 40}


@pytest.mark.ci
def test_modules_that_start_processes_get_spares():
    def universe(device, module, ranks):
        return jobs.job(device, [module], ranks, 10).universe

    assert universe("ideal", "test_spawn", 2) == 2 * (1 + suite.SPARES["test_spawn"])
    assert universe("mpi-np", "test_spawn", 2) == 2 * (1 + suite.SPARES_ON_NICS["test_spawn"])
    assert universe("ideal", "test_p2p_buf", 2) == 0
    assert universe("ideal", "test_util_pool", 1) == 1 + suite.SPARES_OF_ONE["test_util_pool"]
    assert universe("ideal", "test_util_pool", 2) == 0  # its ranks are the pool


def test_modules_are_chosen_by_name_or_pattern(tmp_path, monkeypatch):
    for name in ("test_p2p_a", "test_p2p_b", "test_spawn", "test_x"):
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.setattr(suite, "directory", lambda: tmp_path)
    ideal, t3d, mpi_np = (stack(name) for name in ("ideal", "t3d", "mpi-np"))
    assert suite.modules((), ideal) == ["test_p2p_a", "test_p2p_b", "test_spawn", "test_x"]
    assert suite.modules((), mpi_np) == suite.modules((), ideal)
    assert suite.modules((), t3d) == ["test_p2p_a", "test_p2p_b", "test_x"]  # a spare NIC for each of its processes
    assert suite.modules(["test_x", "test_p2p_*"], ideal) == ["test_x", "test_p2p_a", "test_p2p_b"]
    assert suite.modules(["test_spawn"], t3d) == ["test_spawn"]  # asked for by name
    with pytest.raises(UserError, match="no module 'test_z'; it has test_p2p_a"):
        suite.modules(["test_z"], ideal)


@pytest.mark.ci
def test_ranks_of_real_mpich_are_told_apart():
    """Whatever mpiexec does with their lines."""
    pytest.importorskip("mpi4py")
    read, text = jobs.run_job(jobs.mpich(), "test_status", ["test_status"], 2, 100)
    assert (read.run, read.failed, read.trouble) == (11, [], ""), text
    assert all(f"[{rank}] testGetCount (test_status.TestStatus.testGetCount) ... ok" in text for rank in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("module", ["test_p2p_buf", "test_cco_buf", "test_comm", "test_request", "test_status"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_modules_of_mpi4py(module, ranks):
    read, _ = jobs.run_job(jobs.simulated("ideal"), module, [module], ranks, 300)
    assert read.run > 0
    assert not read.failed
    assert not read.trouble


def test_a_module_of_mpi4py_on_the_gateware():
    read, _ = jobs.run_job(jobs.simulated("mpi-np"), "test_msgzero", ["test_msgzero"], 2, 300)
    assert (read.run, read.passed, read.trouble) == (8, 8, "")
    assert read.simulated > 0.1
    assert read.cycles > 10_000


POINT_TO_POINT = ("buf", "buf_matched", "buf_part", "obj", "obj_matched")
COLLECTIVE = (
    *("buf", "buf_inter", "nb_buf", "nb_vec", "ngh_buf", "ngh_obj", "obj", "obj_inter"),
    *("pr_buf", "pr_ngh_buf", "pr_vec", "vec", "vec_inter"),
)
CHAPTERS = [*(f"test_p2p_{name}" for name in POINT_TO_POINT), *(f"test_cco_{name}" for name in COLLECTIVE)]
MOST = 3000  # seconds for one module


@pytest.mark.slow
def test_the_chapters_are_all_there():
    assert suite.modules(["test_p2p_*", "test_cco_*"], stack("ideal")) == CHAPTERS


ON_CCU = ("test_p2p_buf_matched", "test_p2p_obj")  # its NICs are the slowest to simulate
ON_ADAPTERS = ("test_p2p_buf_matched", "test_p2p_obj_matched", "test_win")


@pytest.mark.slow
@pytest.mark.timeout(MOST + 60)
@pytest.mark.parametrize(
    ("device", "module"),
    [
        *((device, module) for device in ("mpi-np", "t3d") for module in CHAPTERS),
        *((device, module) for device in ("mbcf", "sci") for module in ON_ADAPTERS),
        *(("ccu", name) for name in ON_CCU),
    ],
)
def test_chapters_of_mpi4py_on_the_gateware(device, module):
    (read,) = jobs.run(jobs.simulated(device), [module], 2, MOST)
    assert read.run > 0
    assert not read.failed
    assert not read.trouble
