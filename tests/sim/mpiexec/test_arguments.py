"""The command line of mpiexec."""

import pytest

from lanai_host.errors import UserError
from lanai_sim.mpiexec import Part, parse


@pytest.mark.parametrize("flag", ["-n", "-np", "--np", "-c"])
def test_ranks(flag):
    assert parse([flag, "3", "a.out", "-n", "7"]).parts == [Part(3, ("a.out", "-n", "7"))]


def test_one_rank_unless_told():
    assert parse(["a.out"]).parts == [Part(1, ("a.out",))]


def test_a_value_may_stand_behind_an_equals_sign():
    asked = parse(["--np=2", "--timeout=2.5", "a.out"])
    assert (asked.parts[0].ranks, asked.timeout) == (2, 2.5)


def test_several_programs(tmp_path):
    asked = parse(["-n", "2", "-env", "A", "1", "first", "x", ":", "-n", "3", "-wdir", str(tmp_path), "second"])
    assert asked.parts == [
        Part(2, ("first", "x"), environment={"A": "1"}),
        Part(3, ("second",), str(tmp_path)),
    ]


def test_variables():
    variables = {"KEPT": "yes"}
    asked = parse(["-genv", "G", "1", "-x", "KEPT", "-x", "SET=2", "-x", "MISSING", "a.out"], variables)
    assert asked.environment == {"G": "1"}
    assert asked.parts[0].environment == {"KEPT": "yes", "SET": "2"}


def test_the_whole_run():
    asked = parse(["-ppn", "2", "-usize", "8", "-l", "-n", "4", "a.out"])
    assert (asked.per_node, asked.universe, asked.label) == (2, 8, True)


def test_what_does_nothing_here_is_remembered():
    words = ["--oversubscribe", "--allow-run-as-root", "--mca", "btl", "self", "-bind-to", "core", "-hosts", "a,b"]
    asked = parse([*words, "-n", "2", "a.out"])
    assert asked.ignored == ["--oversubscribe", "--allow-run-as-root", "--mca", "-bind-to", "-hosts"]
    assert asked.parts == [Part(2, ("a.out",))]


def test_help_needs_no_program():
    assert parse(["--help"]).help
    assert parse(["-version"]).version


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "no program was named; write, for example: mpiexec -n 2 python script.py"),
        (["-n", "2", "a", ":", "-n", "2"], "no program was named"),
        (["--with-ft", "maybe", "a"], "--with-ft 'maybe' is not understood; write ulfm or no"),
        (["--output-filename", "log:copy", "a"], "'copy' is not known behind the colon; write nocopy or nojobid"),
        (["--output-filename", ":nocopy", "a"], "--output-filename ':nocopy' names no folder"),
        (["-n", "0", "a"], "-n '0' is not a count; write a whole number from 1"),
        (["-np", "two", "a"], "-np 'two' is not a count"),
        (["-n"], "-n needs 1 value behind it"),
        (["-env", "A"], "-env needs 2 values behind it"),
        (["--oversubscrib", "a"], "--oversubscrib is not an option of mpiexec; did you mean '--oversubscribe'?"),
        (["-wdr", ".", "a"], "did you mean '-wdir'?"),
        (["-zzzzz", "a"], "-zzzzz is not an option of mpiexec; `mpiexec -help` lists the options"),
        (["-wdir", "/no/such", "a"], "-wdir '/no/such' is not a directory"),
        (["--timeout", "-1", "a"], "--timeout '-1' must be a positive number of seconds"),
        (["--timeout", "inf", "a"], "must be a positive number of seconds"),
    ],
)
def test_wrong_words(words, text):
    with pytest.raises(UserError) as refused:
        parse(words)
    assert text in str(refused.value)
