"""The library that replaces clocks under a thread sanitizer."""

from pathlib import Path

import pytest
import sanitizer

from lanai_host.c_module import enums, text_of
from lanai_host.clocks.library import CALLS, Answer

pytestmark = pytest.mark.slow

PARTS = (CALLS, ("lanai_host.clocks", "reading"), ("lanai_host.clocks", "sleeping"))  # those that share state


def ran(folder, change=lambda text: text):
    """The program that was built from the library, with `change` made to it, and run."""
    text = change(text_of(PARTS, enums(Answer))) + Path(__file__).with_name("clock_threads.c").read_text()
    source = folder / "threads.c"
    source.write_text(text)
    return sanitizer.run(sanitizer.build(source, "-ldl"))


def test_threads_do_not_race(tmp_path):
    done = ran(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def changed(*pairs):
    def change(text):
        for before, after in pairs:
            assert before in text
            text = text.replace(before, after)
        return text

    return change


@pytest.mark.parametrize(
    "change",
    [
        changed(("while (last < reading && ", "while (")),
        changed(("return state() == SIMULATED ? now : -1;", "return now;")),
    ],
    ids=["noted in the order in which they end", "shown though simulated time has ended"],
)
def test_time_would_be_seen_to_go_back(tmp_path, change):
    """Readings that are not kept in order show it. The threads decide, so it takes some tries."""
    assert any("time went back" in ran(tmp_path, change).stdout for _ in range(20))


def test_a_race_would_be_seen(tmp_path):
    """A new state of the clocks is a race if nothing orders it after the time from which they run on."""
    unordered = changed(
        ("atomic_store(&clocks.state, RUNS_ON)", "atomic_store_explicit(&clocks.state, RUNS_ON, memory_order_relaxed)")
    )
    assert "data race" in ran(tmp_path, unordered).stderr
