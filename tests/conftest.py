"""The parts that all tests share: the expected figures, the groups of slow tests."""

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from slow_groups import BENCHES, BY_HAND, CI, GROUPS, group_of, left_to_hand

# The same examples each time; how long one takes says nothing on a shared machine.
settings.register_profile(
    "shared machine", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared machine")

FIGURES = Path(__file__).parent / "figures"
BUSY = 20  # processes of other work on each processor
YOUNG = 10_000  # objects; 700 by default


def pytest_addoption(parser):
    parser.addoption(
        "--refresh-figures", action="store_true", help="rewrite tests/figures/*.json with what is measured"
    )
    parser.addoption(
        "--refresh-docs", action="store_true", help="rewrite the outputs that pages show with what is printed"
    )


def pytest_configure(config):
    os.environ["LANAI_BUILD_NOTES"] = "0"  # tests look at what commands say, whatever the cache has
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, group in GROUPS.items():
        config.addinivalue_line("markers", f"{name}: slow tests: {group.proves}")
    if hasattr(config, "cache"):  # not with `-p no:cacheprovider`
        _keep_bytecode(config.cache.mkdir("bytecode"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """The collected tests are not garbage. While the collector counts them among the old objects, it
    searches these so seldom that a worker keeps the simulated memories of hundreds of tests. It need not
    look at the young ones as often as it does by default."""
    gc.disable()
    gc.set_threshold(YOUNG)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _keep_bytecode(directory):
    """The tests start some thousand Python processes, which need not compile the same sources: they keep
    what they have compiled here, even if the environment is set to keep none."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(directory)


@pytest.hookimpl(tryfirst=True)  # before tests are left out by their markers
def pytest_collection_modifyitems(items):
    """A slow test gets its group. Tests for .ci/run and by hand are slow, and so are all proofs. It may take an hour
    before it counts as hung: what is minutes on a quiet machine is not on a shared one."""
    for_ci = [item for item in items if _is_counted(item)]
    for place in left_to_hand([item.nodeid.partition("[")[0] for item in for_ci]):
        for_ci[place].add_marker(BY_HAND)
    for item in items:
        if "prove" in getattr(item, "fixturenames", ()):  # whatever asks for it is a proof
            item.add_marker("proof")
        if any(map(item.get_closest_marker, (CI, BY_HAND, "proof"))):
            item.add_marker("slow")
        if item.get_closest_marker("slow"):
            item.add_marker(_group(item))
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(3600))


def _is_counted(item):
    """Return whether .ci/run runs some instances of the test: not of a bench, a proof or a test with the marker
    `ci(whole=True)`."""
    mark = item.get_closest_marker(CI)
    known = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
    return mark is not None and not mark.kwargs.get("whole") and known.isdisjoint({*BENCHES, BY_HAND, "prove"})


def _group(item):
    place = item.path.relative_to(Path(__file__).parent).as_posix()
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    try:
        return group_of(place, [mark.name for mark in item.iter_markers()], parameters.get("seed"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture
def busy_machine():
    """Other work wants the processors of a test, as long as it runs: no result may depend on that. The test has half
    of the machine, so that tests beside it come to an end too."""
    every = sorted(os.sched_getaffinity(0))
    half = max(1, len(every) // 2)
    odd = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2
    own = every[-half:] if odd else every[:half]
    os.sched_setaffinity(0, own)
    loop = f"while [ -e /proc/{os.getpid()} ]; do :; done"  # they end with this process at the latest
    load = [subprocess.Popen(["sh", "-c", loop]) for _ in range(BUSY * len(own))]
    yield
    for process in load:
        process.kill()
    for process in load:
        process.wait()
    os.sched_setaffinity(0, every)


@pytest.fixture
def expected(request):
    """`expected(name, measured)`: the measured figure must equal the one on record, exactly."""
    refresh = request.config.getoption("--refresh-figures")

    def check(name, measured):
        path = FIGURES / f"{name.split('.')[0]}.json"
        record = json.loads(path.read_text()) if path.exists() else {}
        if refresh:
            record[name] = measured
            path.write_text(json.dumps(dict(sorted(record.items())), indent=2) + "\n")
            return
        assert name in record, (
            f"{name} has no expected figure in {path.name}; measured {measured}; run pytest --refresh-figures"
        )
        assert measured == record[name], f"{name}: measured {measured}, expected {record[name]}"

    return check
