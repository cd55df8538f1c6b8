"""A journal is one command's while points are measured for it."""

import os
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.executors.journal import Journal, each_kept
from lanai_sim.executors.place import Place

POINTS = [{"number": number} for number in range(3)]
measure = dict  # a function that workers find


def test_a_second_command_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first, second = (Journal(tmp_path / "j", "study") for _ in range(2))
    here = Place()

    def meanwhile(point):
        with pytest.raises(UserError, match="another command measures for the journal"):
            each_kept(second, POINTS, measure, here)

    each_kept(first, POINTS, measure, here, meanwhile)
    told: list[dict] = []
    rows = each_kept(second, POINTS, measure, here, told.append)
    assert [row.figures["number"] for row in rows] == [0, 1, 2]
    assert told == [], "the first one has measured them"
    assert len((tmp_path / "j").read_text().splitlines()) == 3


def test_a_journal_with_all_points_is_only_read(tmp_path: Path) -> None:
    each_kept(Journal(tmp_path / "j", "study"), POINTS, measure, Place())
    os.chmod(tmp_path / "j", 0o444)
    assert len(each_kept(Journal(tmp_path / "j", "study"), POINTS, measure, Place())) == 3


def test_a_journal_that_cannot_be_written_is_told_before_points_are_measured(tmp_path: Path) -> None:
    measured: list[dict] = []
    with pytest.raises(UserError, match="cannot write the journal"):
        each_kept(Journal(tmp_path / "none" / "j", "study"), POINTS, measure, Place(), measured.append)
    assert not measured


def test_a_row_is_on_the_disk_before_the_next_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, kept = Journal(tmp_path / "j", "study"), []
    monkeypatch.setattr(os, "fsync", lambda file: kept.append(os.fstat(file).st_size))
    for point in POINTS:
        journal.add(point, point)
        assert kept[-1] == (tmp_path / "j").stat().st_size
    assert len(set(kept)) == len(POINTS)


def test_a_row_is_added_without_reading_the_others(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "study")
    journal.add(POINTS[0], {"text": "x" * 1_000_000})
    before = bytes_read()
    journal.add(POINTS[1], {})
    assert bytes_read() - before < 100_000
    with open(tmp_path / "j", "a") as file:
        file.write('{"cut short')
    journal.add(POINTS[2], {})
    assert [journal.find(point) for point in POINTS] == [Journal(tmp_path / "j", "study").find(p) for p in POINTS]


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])
