"""The reports of a build: they begin some time after it begins, and not before."""

import io
import re
import threading
import time

import pytest

from lanai_firmware import building, cache
from lanai_firmware.building import Work, step

STEPS = {"reading": 1.0, "compiling": 3.0, "linking": 1.0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(building, "PATIENCE", 0.05)
    monkeypatch.setattr(building, "PERIOD", 0.01)
    monkeypatch.delenv(building.VARIABLE)


def said_of(capsys, work, *sleeps):
    """Return the report of a work whose steps take so long; None: the step is not reached."""
    with work:
        for name, seconds in zip(work.steps, sleeps, strict=False):
            if seconds is not None:
                step(name)
                time.sleep(seconds)
    return capsys.readouterr().err


def test_each_step_is_told_with_the_time_that_is_left(capsys):
    said = said_of(capsys, Work("the model", "this configuration", STEPS), 0.1, 0.1, 0.1).splitlines()
    for number, name in enumerate(STEPS, 1):
        line = rf"lanai: building the model: step {number} of 3, 1 s so far, about [1-9] s more: {name} "
        assert re.fullmatch(line + r"\(once for this configuration\)", said[number - 1])
    assert said[3:] == ["lanai: built the model in 1 s"]


def test_what_is_quick_or_there_already_is_not_told(capsys):
    assert said_of(capsys, Work("the model", "this configuration", STEPS), 0, 0, 0) == ""
    assert said_of(capsys, Work("the model", "this configuration", STEPS)) == ""


def test_steps_that_are_left_out_say_nothing_of_the_time(capsys):
    """One second of a step took a tenth here: so do those that are left."""
    work = Work("the model", "", {"a": 50.0, "b": 1.0, "c": 10.0})
    with work:
        step("b")
        time.sleep(0.1)
        step("c")
        assert work.left() == pytest.approx(1.0, rel=0.5)
    assert "a" not in work._spent
    capsys.readouterr()


def test_a_work_within_another_adds_to_its_line(capsys):
    with Work("the model", "this configuration", STEPS):
        step("compiling")
        with Work("the library", "this Python", {"translating": 1.0, "assembling": 1.0}) as inner:
            inner.step("translating")
            time.sleep(0.1)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[0].startswith("lanai: building the model: step 2 of 3, ")
    assert said[0].endswith(": compiling: translating (once for this configuration)")


def test_what_takes_longer_than_usual_promises_nothing(capsys):
    said = said_of(capsys, Work("the NICs", "", {"first": 0.0}, "booting", "booted"), 0.1)
    assert said == "lanai: booting the NICs: 1 s so far\nlanai: booted the NICs in 1 s\n"


def test_a_failure_is_not_said_to_be_built(capsys):

    def fail():
        with Work("the model", "", STEPS):
            step("compiling")
            time.sleep(0.1)
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    assert "built" not in capsys.readouterr().err


def test_on_a_terminal_it_is_one_line_that_goes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Work("the model", "this configuration", STEPS):
        step("compiling")
        time.sleep(0.1)
    said = terminal.getvalue()
    assert said.startswith("\r\x1b[Klanai: building the model")
    assert said.endswith("\r\x1b[Klanai: built the model in 1 s\n")
    assert said.count("\n") == 1


def test_it_can_be_silenced(monkeypatch, capsys):
    monkeypatch.setenv(building.VARIABLE, "0")
    assert said_of(capsys, Work("the model", "this configuration", STEPS), 0.1, 0.1) == ""


def test_a_process_that_waits_for_another_says_so(monkeypatch, tmp_path, capsys):
    """The lock of an entry is held, as by another process."""
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    key = "ab" * 32
    path = cache.place("thing", key)
    path.parent.mkdir(parents=True)
    began = threading.Event()

    def make(work):
        began.set()
        time.sleep(0.2)
        (work / "file").write_text("x")

    first = threading.Thread(target=cache.entry, args=("thing", key, make))
    first.start()
    began.wait(10)
    cache.entry("thing", key, None)  # which the other has made by then
    first.join()
    assert "lanai: waiting for another process, which builds the same: 1 s so far\n" in capsys.readouterr().err


def test_a_rank_has_no_thread_that_tells(capsys, monkeypatch):
    """It would wait by the rank's simulated clocks, for ever."""
    monkeypatch.setenv(building.RANK, "0")
    threads = threading.active_count()
    work = Work("the model", "this configuration", STEPS)
    with work:
        step("reading")
        assert threading.active_count() == threads
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
