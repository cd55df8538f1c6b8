"""The choice of stored runs."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lanai_host.errors import UserError
from lanai_sim.store.stored_run import Condition, StoredRun, chosen, rows, since

FIRST = StoredRun(
    date="2026-11-27T10:00:00+00:00", command=(), folder="", program=("a",), files="", ranks=2, device="mpi-np",
    system="", ending="finished", code=0, version="", commit="", sources="", versions={}, result="{}", id=1,
    config='{"ranks": 2, "survive": false, "host": {"call": 300000}, "faults": []}', figures={"run.packets": 4},
)  # fmt: skip
SECOND = replace(
    FIRST, id=2, ranks=4, ending="deadlock", code=3, figures={"run.packets": 9, "run.nacks": 1},
    config='{"ranks": 4, "survive": true, "host": {"call": 900000}, "faults": ["kill rank1 at=3ms"]}',
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ranks=2", [1]), ("ranks!=2", [2]), ("host.call=3e5", [1]), ("host.call>300000", [2]),
        ("host.call>=300000", [1, 2]), ("run.packets<5", [1]), ("run.packets<=9", [1, 2]), ("run.nacks=1", [2]),
        ("survive=true", [2]), ("ok=false", [2]), ("ending=deadlock", [2]), ("device=mpi-np", [1, 2]),
        ("code=3", [2]), ("ranks=two", []),
    ],
)  # fmt: skip
def test_conditions(text, ids):
    assert [run.id for run in chosen([FIRST, SECOND], [Condition.of(text)])] == ids


def test_all_conditions_hold():
    both = [Condition.of("ranks=4"), Condition.of("host.call=300000")]
    assert chosen([FIRST, SECOND], both) == []


@pytest.mark.parametrize("text", ["", "ranks", "=2", "ranks=", ">3"])
def test_what_is_not_a_condition_is_refused(text):
    with pytest.raises(UserError, match=r"is not understood; write, for example: --where nic.link_kbytes=20000"):
        Condition.of(text)


def test_a_name_that_no_run_has():
    with pytest.raises(UserError, match=r"no run has a figure or setting 'host\.cal'; did you mean 'host\.call'\?"):
        chosen([FIRST], [Condition.of("host.cal=1")])
    assert chosen([], [Condition.of("host.cal=1")]) == []


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:30", datetime(2026, 11, 20, 10, 30, tzinfo=UTC)),
        ("2026-11-20T10:30+02:00", datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
        ("3d", datetime(2026, 11, 24, 12, tzinfo=UTC)),
        ("6h", datetime(2026, 11, 27, 6, tzinfo=UTC)),
    ],
)
def test_dates(text, moment):
    assert since(text, datetime(2026, 11, 27, 12, tzinfo=UTC)) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "-1d", "999999d"])
def test_what_is_not_a_date_is_refused(text):
    with pytest.raises(UserError, match=r"--since .* is not a date; write 2026-11-27"):
        since(text, datetime(2026, 11, 27, tzinfo=UTC))


def test_rows_have_the_settings_that_differ():
    first, second = rows([FIRST, SECOND])
    assert (first["host.call"], second["host.call"]) == (300000, 900000)
    assert (second["faults"], second["run.nacks"], first["run.nacks"]) == ("['kill rank1 at=3ms']", 1, None)
    assert "host.call" not in rows([FIRST])[0]
    assert rows([]) == []
