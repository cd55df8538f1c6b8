"""The tables of a comparison, and the notes below them."""

import re

from rich.console import Console

from lanai_sim.studies.comparing import measured
from lanai_sim.studies.comparing.measured import Measured

ONE = Measured({"simulated_us": 1234.56}, {"packets": "it has no NIC"}, "none", {"eager": 2}, ("a\nb\n", "c\n"))
SAME = Measured({"simulated_us": 5.0, "packets": 3}, {}, "firmware", {"short": 4}, ("a\nb\n", "c\n"))
OTHER = Measured({}, {}, "", {}, ("a\nb\n", "d\n"))
REFUSED = Measured(why="too many nodes")


def printed(table):
    console = Console(width=150, markup=False)
    with console.capture() as capture:
        console.print(table)
    return [line.split() for line in capture.get().splitlines()]


def test_a_column_for_each_system():
    rows = printed(measured.counters({"one": ONE, "two": SAME, "three": REFUSED}))
    assert rows[1] == ["one", "two", "three"]
    assert ["simulated", "time,", "us", "1,234.6", "5.0", "-"] in rows
    assert ["packets", "-", "3", "-"] in rows
    assert ["bytes", "are", "moved", "by", "none", "firmware", "-"] in rows
    assert ["messages:", "eager", "2", "-", "-"] in rows
    assert ["messages:", "short", "-", "4", "-"] in rows


def test_figures_of_the_program():
    rows = printed(measured.own({"one": {"rate": 60_000.4, "us": 1.25}, "two": {"us": 3.0}}, "kit"))
    assert rows[2:] == [["rate", "60,000", "-"], ["us", "1.2", "3.0"]]


def test_each_dash_has_a_reason():
    lines = list(measured.notes({"one": ONE, "two": SAME, "three": REFUSED}))
    assert lines == ["three: too many nodes", "- (one): it has no NIC"]


def test_refusals_are_told_without_dashes():
    assert list(measured.refusals({"one": ONE, "three": REFUSED})) == ["three: too many nodes"]


def test_answers_of_the_kit_are_compared_without_its_figures():
    one, two, three = (Measured(outputs=(text, "")) for text in ('sum 3\n{"us": 1}\n', 'sum 3\n{"us": 2}\n', "sum 4\n"))
    assert measured.sameness(measured.answers({"x": one, "y": two})) == "outputs are equal on all 2 systems"
    assert measured.sameness(measured.answers({"x": one, "y": three})).endswith("of rank 0: x 'sum 3', y 'sum 4'")


def test_outputs_are_compared():
    assert measured.sameness({"one": ONE, "two": SAME, "three": REFUSED}) == "outputs are equal on all 2 systems"
    told = measured.sameness({"one": ONE, "two": SAME, "three": OTHER})
    assert told == "outputs differ, first in line 1 of rank 1: one 'c', three 'd'"
    assert "not compared" in measured.sameness({"one": ONE, "two": REFUSED})


def test_the_first_difference():
    assert measured.first_difference(["a\nb\n"], ["a\nb\n"]) is None
    assert measured.first_difference(["a\n"], ["a\nb\n"]) == (0, 2, "", "b")
    assert measured.first_difference(["", "a"], ["", "a\n"]) == (1, 1, "a", "a")


def test_figures_of_all_parts_of_the_kit_together():
    one, two = (Measured(outputs=(text,)) for text in ('{"a": 1}\n', '{"b": 2}\n'))
    assert measured.figures({"pair": {"x": one}, "collectives": {"x": two}}) == {"x": {"a": 1, "b": 2}}


def test_lines_that_count():
    found = {name: Measured(outputs=[f"E = 1.5\ntook {time} s\n"]) for name, time in (("ideal", 3), ("sci", 4))}
    energies = re.compile("^E =")
    assert measured.sameness(found, energies) == "1 line of output with '^E =': equal on all 2 systems"
    assert measured.sameness(found, re.compile("F")) == "outputs are not compared: no line has 'F'"
    found["sci"] = Measured(outputs=["E = 1.6\n"])
    expected = "outputs differ, first in matching line 1 of rank 0: ideal 'E = 1.5', sci 'E = 1.6'"
    assert measured.sameness(found, energies) == expected
