"""The outcome of each test of one suite that is run on ranks."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from lanai_host.errors import UserError
from lanai_sim.pytest_plugin.bench import ranges
from lanai_sim.pytest_plugin.counts import Wish, parse_counts, wish_of

from .conftest import session
from .suite import CONFTEST, SUITE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("suite")
    (made / "conftest.py").write_text(CONFTEST)
    (made / "test_suite.py").write_text(SUITE)
    return made


@pytest.fixture(scope="module")
def cases(folder):
    """The cases of the session's report, by name."""
    done = session(folder, "--lanai", "-q", "--junitxml", "report.xml", "-o", "junit_logging=all")
    assert done.returncode == 1, done.stdout + done.stderr
    return {case.get("name"): case for case in ElementTree.parse(folder / "report.xml").iter("testcase")}


def outcomes(case):
    """The outcomes of a case beside passing: `failure`, `error`, `skipped`."""
    return [child.tag for child in case if child.tag in ("failure", "error", "skipped")]


def text(case, tag="failure"):
    found = case.find(tag)
    assert found is not None, [child.tag for child in case]
    return found.text


@pytest.mark.parametrize(
    "name",
    [
        "test_passes", "test_bare", "test_counts[ranks=1]", "test_parameters[a::b]", "test_parameters[c[d]]",
        "test_method", "test_paths", "test_xpass", "test_forks", "test_without_mpi", "test_captured", "test_unmarked",
    ],
)  # fmt: skip
def test_these_pass(cases, name):
    assert outcomes(cases[name]) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("test_skip_marker", "not today"),
        ("test_skipped_in_ranks", "two are too few"),
        ("test_xfail_while_others_wait", "known"),
        ("test_xfail_hang", "known hang"),
    ],
)
def test_these_are_skipped_or_expected_to_fail(cases, name, reason):
    assert outcomes(cases[name]) == ["skipped"]
    assert cases[name].find("skipped").get("message") == reason


def test_one_rank_raises_while_the_other_waits(cases):
    said = text(cases["test_one_rank_raises"])
    assert " rank 0 of 2 " in said
    assert '>           raise ValueError("the reason")' in said
    assert re.search(r"rank 0 left by ValueError at test_suite.py:\d+ and finalized; rank 1 waits for it", said)
    assert cases["test_one_rank_raises"].find("failure").get("message") == "rank 0: ValueError: the reason"


def test_what_ranks_printed_is_there_rank_by_rank(cases):
    printed = text(cases["test_hangs"], "system-out")
    assert "before it, rank 0" in printed
    assert "before it, rank 1" in printed
    assert "half a line" in text(cases["test_killed"], "system-out")


def test_a_deadlock_is_the_failure(cases):
    assert text(cases["test_hangs"]).count("waits in MPI_Mprobe at test_suite.py") == 2
    assert cases["test_hangs"].find("failure").get("message").startswith("deadlock at")


def test_the_same_failure_is_shown_once_and_assertions_explain_themselves(cases):
    said = text(cases["test_all_fail_alike"])
    assert " ranks 0, 1, 2 of 3 " in said
    assert said.count("E       assert 2 == 3") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("test_counts[ranks=2]", "assert 2 == 1"),
        ("test_xpass_strict", "[XPASS(strict)] mended"),
        ("test_killed", "was killed by SIGSEGV"),
        ("test_exits", "exited with code 0 without MPI_Finalize"),
        ("test_aborts", "rank 1 aborted with code 7"),
        ("test_wrong_root", "aborted with code 1"),
        ("test_binary", "ValueError: 1"),
        ("test_logs", " rank 1 of 2 "),
        ("test_computes_forever", "rank 0 at 0 ps: runs code"),
    ],
)
def test_these_fail(cases, name, words):
    assert outcomes(cases[name]) == ["failure"]
    assert words in text(cases[name])


def test_fixtures_that_fail_are_errors(cases):
    assert outcomes(cases["test_setup_fails"]) == outcomes(cases["test_teardown_fails"]) == ["error"]
    assert "no such table" in text(cases["test_setup_fails"], "error")
    assert "in teardown" in text(cases["test_teardown_fails"], "error")


@pytest.mark.ci
def test_workers_of_xdist_report_the_same(folder, cases):
    words = ("-n", "2", "--lanai", "-q", "--junitxml", "shared.xml")
    done = session(folder, *words, "-k", "raises or hangs or paths or xfail or binary or in_ranks")
    assert done.returncode == 1, done.stdout + done.stderr
    found = list(ElementTree.parse(folder / "shared.xml").iter("testcase"))
    assert len(found) > 5
    assert {case.get("name"): outcomes(case) for case in found} == {
        case.get("name"): outcomes(cases[case.get("name")]) for case in found
    }
    for case in found:
        if case.find("failure") is not None:
            name = case.get("name")
            assert case.find("failure").get("message") == cases[name].find("failure").get("message")


# At how many ranks a test runs.


def mark(name, *arguments, **words):
    return pytest.Mark(name, arguments, words, _ispytest=True)


@pytest.mark.parametrize(
    ("text", "counts"), [("4", (4,)), ("1-3", (1, 2, 3)), ("2,4-5,4", (2, 4, 5)), (" 8 , 1", (8, 1))]
)
def test_counts(text, counts):
    assert parse_counts("--lanai-ranks", text) == counts


@pytest.mark.parametrize("text", ["", "3-1", "a", "1-2-3", "5000", "-1"])
def test_what_is_not_a_count(text):
    with pytest.raises(UserError, match="--lanai-ranks"):
        parse_counts("--lanai-ranks", text)


@pytest.mark.parametrize(
    ("marker", "wish"),
    [
        (mark("parallel"), Wish((3,))),
        (mark("parallel", 4), Wish((4,))),
        (mark("parallel", [1, 2]), Wish((1, 2))),
        (mark("parallel", nprocs=range(2, 4)), Wish((2, 3))),
        (mark("mpi"), Wish()),
        (mark("mpi", ranks=2), Wish((2,))),
        (mark("mpi", min_size=4), Wish((), 4)),
        (mark("mpi", ranks=[1, 3], timeout=2, unit="m"), Wish((1, 3), 1, 120.0)),
    ],
)
def test_markers(marker, wish):
    assert wish_of(marker) == wish


def test_ranges():
    assert ranges({1, 2, 3, 5, 8, 7}) == "1-3, 5, 7-8"


# docs/testing.md: the failure that it shows is what pytest prints, and its workflows do what they should.

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


@pytest.mark.ci
def test_the_failure_is_as_shown(tmp_path, request):
    text = PAGE.read_text()
    blocks = list(FENCE.finditer(text))
    number = next(number for number, block in enumerate(blocks) if "test_one_rank_raises" in block[2])
    program, shown = blocks[number], blocks[number + 2]
    (tmp_path / "test_data.py").write_text(program[2])
    lines = session(tmp_path, "--lanai").stdout.splitlines()
    printed = "\n".join(lines[lines.index(shown[2].splitlines()[0]) : -1]) + "\n"
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(text[: shown.start(2)] + printed + text[shown.end(2) :])
    else:
        assert printed == shown[2]


PROJECT = """
import pytest
from mpi4py import MPI

@pytest.mark.parallel(2)
def test_two():
    assert MPI.COMM_WORLD.size == 2

@pytest.mark.mpi
def test_any(comm):
    assert comm.allreduce(1) == comm.size
"""


def job(workflow):
    """The commands of a workflow's job, the variables that it sets, and the folder that its cache keeps."""
    [one] = [found for name, found in workflow.get("jobs", workflow).items() if name == "ranks"]
    if "script" in one:
        return one["script"], one["variables"], one["cache"]["paths"][0]
    caches = [step["with"]["path"] for step in one["steps"] if step.get("uses", "").startswith("actions/cache@")]
    return [step["run"] for step in one["steps"] if "run" in step], {}, caches[0]


@pytest.mark.ci(whole=True)  # each is a text of its own
@pytest.mark.parametrize("number", [0, 1], ids=["github", "gitlab"])
def test_a_workflow_runs_as_written_and_its_cache_spares_all_builds(number, tmp_path):
    """The packages that its first command installs are here already."""
    written = [block[2] for block in FENCE.finditer(PAGE.read_text()) if block[1] == "yaml"][number]
    (install, *commands), variables, kept = job(yaml.safe_load(written))
    assert re.match(r"pip install 'openlanai\[mpi4py\]' pytest( |$)", install)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_it.py").write_text(PROJECT)
    hidden = ("LANAI_CACHE", "XDG_CACHE_HOME", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"HOME": str(tmp_path / "home"), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment |= {name: value.replace("$CI_PROJECT_DIR", str(folder)) for name, value in variables.items()}
    cache = (folder / kept.replace("~", environment["HOME"])).resolve()

    def run():
        said = ""
        for command in commands:
            shell = ["bash", "-e", "-c", command]
            done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            said += done.stdout
        return said, {path.relative_to(cache) for path in cache.glob("*/??/*")}

    cold, built = run()
    assert "ideal: ready" in cold
    assert " passed" in cold
    assert len(built) >= 3
    assert run()[1] == built
