"""Tracebacks that several ranks print: each whole, and equal ones once."""

import os

import pytest

from lanai_sim.job import output
from lanai_sim.job.output import Output

HEAD = b"Traceback (most recent call last):\n"
ONE = HEAD + b'  File "a.py", line 1, in <module>\nValueError: [[0]\n [0]]\n'
OTHER = HEAD + b'  File "a.py", line 2, in <module>\nKeyError: 3\n'


def printed(capfd, texts, *, prefix=False, capture=False):
    """Return what is passed on of ranks that print these texts, a line of each rank in turn; and the output."""
    out, ends = Output(prefix, capture, show=True), []
    for rank in range(len(texts)):
        reads, writes = os.pipe()
        out.add(os.fdopen(reads, "rb"), rank, "stderr")
        ends.append(writes)
    out.start()
    lines = [text.splitlines(keepends=True) for text in texts]
    for number in range(max(map(len, lines))):
        for end, mine in zip(ends, lines, strict=True):
            os.write(end, b"".join(mine[number : number + 1]))
    for end in ends:
        os.close(end)
    out.finish()
    return capfd.readouterr().err, out


@pytest.fixture(autouse=True)
def hold(monkeypatch):
    monkeypatch.setattr(output, "HOLD_SECONDS", 1000.0)  # a slow machine is not to cut a traceback in two


def test_they_do_not_mix(capfd):
    text, _ = printed(capfd, [ONE, OTHER])
    assert text in ((ONE + OTHER).decode(), (OTHER + ONE).decode())


def test_equal_ones_are_told_once(capfd):
    text, _ = printed(capfd, [ONE, OTHER, ONE, ONE])
    assert text.count(ONE.decode()) == text.count(OTHER.decode()) == 1
    assert text.endswith("lanai: ranks 0, 2, 3 printed the same traceback: [0]]\n")


def test_what_comes_before_is_not_held_back(capfd):
    text, _ = printed(capfd, [b"begins\n" + ONE, b"begins\n"])
    assert text == "begins\nbegins\n" + ONE.decode()


def test_a_traceback_of_a_rank_that_goes_on_is_passed_on(capfd, monkeypatch):
    monkeypatch.setattr(output, "HOLD_SECONDS", 0.01)
    out, (reads, writes) = Output(prefix=False), os.pipe()
    out.add(os.fdopen(reads, "rb"), 0, "stderr")
    out.start()
    os.write(writes, ONE)
    text = ""
    while text != ONE.decode():  # else the test's own limit ends it
        text += capfd.readouterr().err
    os.close(writes)
    out.finish()
    assert capfd.readouterr().err == ""


def test_with_the_rank_before_each_line_all_are_passed_on(capfd):
    text, _ = printed(capfd, [ONE, ONE], prefix=True)
    assert sorted(text.splitlines()) == sorted(
        f"[{rank}] {line}" for rank in (0, 1) for line in ONE.decode().splitlines()
    )


def test_all_that_is_captured_is_there(capfd):
    _, out = printed(capfd, [ONE, ONE], capture=True)
    assert [one.stderr for one in out.captured([0, 1])] == [ONE.decode()] * 2
