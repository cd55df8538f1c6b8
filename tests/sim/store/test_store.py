"""The store: runs go in and come out, by several processes at once, and a bad file is told in one line."""

import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.store import Store, StoredRun, store, store_of
from lanai_sim.store import store as schema
from lanai_sim.store.stored_run import Condition, chosen, rows, since

RUN = StoredRun(
    date="2026-11-27T10:00:00+00:00", command=("lanai", "run"), folder="/tmp", program=("python", "a b.py"), files="f",
    ranks=2, device="ideal", system="ideal", ending="finished", code=0, version="1", commit="", sources="s",
    versions={"numpy": "2"}, config='{"program": ["python"], "ranks": 2, "host": {"call": 3}}', result="{}",
    figures={"run.simulated_us": 1.5, "run.packets": 7},
)  # fmt: skip
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_store import RUN
from lanai_sim.store import Store
for number in range({count}):
    print(Store({path!r}).add(replace(RUN, folder=sys.argv[1])), flush=True)
"""


def writer(path, name, count):
    code = WRITER.format(folder=str(Path(__file__).parent), path=str(path), count=count)
    return subprocess.Popen([sys.executable, "-c", code, name], stdout=subprocess.PIPE, text=True)


def test_what_goes_in_comes_out(tmp_path):
    kept = Store(tmp_path / "a.db")
    assert [kept.add(RUN), kept.add(replace(RUN, ranks=3))] == [1, 2]
    assert kept.run(1) == replace(RUN, id=1)
    assert kept.runs() == [replace(RUN, id=1), replace(RUN, id=2, ranks=3)]
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_numbers_stay_as_they_are(tmp_path):
    kept = Store(tmp_path / "a.db")
    kept.add(RUN)
    figures = kept.run(1).figures
    assert {name: type(value) for name, value in figures.items()} == {"run.simulated_us": float, "run.packets": int}


def test_ids_of_deleted_runs_are_not_given_again(tmp_path):
    kept = Store(tmp_path / "a.db")
    kept.add(RUN)
    kept.add(RUN)
    kept.delete([2, 2])
    assert kept.add(RUN) == 3
    assert [run.id for run in kept.runs()] == [1, 3]
    with sqlite3.connect(tmp_path / "a.db") as db:
        assert db.execute("SELECT DISTINCT run FROM figures").fetchall() == [(1,), (3,)]
    db.close()


def test_all_are_deleted_or_none(tmp_path):
    kept = Store(tmp_path / "a.db")
    kept.add(RUN)
    with pytest.raises(UserError, match=r"a\.db' has no run 7, 9; `lanai results` lists its runs"):
        kept.delete([1, 7, 9])
    assert len(kept.runs()) == 1
    with pytest.raises(UserError, match="has no run 2"):
        kept.run(2)
    with pytest.raises(UserError, match="has no run 92233720368547758079"):
        kept.run(92233720368547758079)


def test_processes_write_at_the_same_time(tmp_path):
    path = tmp_path / "a.db"
    writers = [writer(path, name, 10) for name in "ab"]
    ids = [int(line) for one in writers for line in one.communicate(timeout=500)[0].split()]
    assert [one.returncode for one in writers] == [0, 0]
    assert sorted(ids) == list(range(1, 21))
    assert [run.folder for run in Store(path).runs()].count("a") == 10


def test_a_process_that_is_killed_loses_nothing_that_was_stored(tmp_path):
    path = tmp_path / "a.db"
    for count in (1, 3, 6):
        one = writer(path, "a", 100_000)
        told = [int(one.stdout.readline()) for _ in range(count)]
        one.send_signal(signal.SIGKILL)
        told += [int(line) for line in one.communicate(timeout=500)[0].split("\n") if line]
        there = {run.id: run for run in Store(path).runs()}
        assert set(told) <= there.keys()
        assert all(run.figures == RUN.figures for run in there.values())
    Store(path).add(RUN)


def test_a_store_that_is_held_for_long_is_told(tmp_path, monkeypatch):
    kept = Store(tmp_path / "a.db")
    kept.add(RUN)
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    db = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(UserError, match=r"another process has held the store '.*a\.db' for 0\.05 s"):
        kept.add(RUN)
    assert len(kept.runs()) == 1  # it can be read all the same
    db.close()


def other_version(path):
    Store(path).prepare()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()


def version_1(path):
    """A store as the first version made it, with a run."""
    Store(path).add(RUN)
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE runs DROP COLUMN note")
        db.execute("PRAGMA user_version = 1")
    db.close()


def version_of(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def test_a_store_of_an_older_version_is_read_as_it_is_and_migrated_by_who_writes(tmp_path):
    path = tmp_path / "a.db"
    version_1(path)
    before = path.read_bytes()
    assert Store(path).runs() == [replace(RUN, id=1)] == [Store(path).run(1)]
    assert path.read_bytes() == before
    Store(path).add(replace(RUN, note="new"))
    assert version_of(path) == schema.VERSION
    assert [run.note for run in Store(path).runs()] == ["", "new"]


@pytest.mark.parametrize("use", [Store.prepare, lambda kept: kept.delete([1])])
def test_every_writer_migrates(tmp_path, use):
    version_1(tmp_path / "a.db")
    use(Store(tmp_path / "a.db"))
    assert version_of(tmp_path / "a.db") == schema.VERSION


def test_processes_migrate_at_the_same_time(tmp_path):
    version_1(tmp_path / "a.db")
    writers = [writer(tmp_path / "a.db", name, 3) for name in "ab"]
    assert [(one.communicate(timeout=500), one.returncode)[1] for one in writers] == [0, 0]
    assert len(Store(tmp_path / "a.db").runs()) == 7


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    version_1(path)
    broken = {1: (*schema.MIGRATIONS[1], "ALTER TABLE absent ADD COLUMN x")}
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(UserError, match=r"cannot use the store .*no such table"):
        Store(path).add(RUN)
    assert version_of(path) == 1
    assert Store(path).runs() == [replace(RUN, id=1)]


def other_program(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()


def cut_short(path):
    kept = Store(path)
    for _ in range(20):
        kept.add(RUN)
    path.write_bytes(path.read_bytes()[:9000])


BAD = {
    "is a store of version 3, this openlanai reads 1 and 2; name": other_version,
    "is a database of another program; name a store": other_program,
    "is not a store of results; name another": lambda path: path.write_text("hello\n" * 300),
    "is damaged": cut_short,
    "cannot use the store .*; name a writable file": Path.mkdir,
}


@pytest.mark.parametrize(("told", "make"), BAD.items(), ids=[str(n) for n in range(len(BAD))])
def test_a_file_that_is_not_a_store_of_ours_is_refused(tmp_path, told, make):
    path = tmp_path / "a.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    for use in (Store(path).runs, lambda: Store(path).delete([1]), lambda: Store(path).add(RUN)):
        with pytest.raises(UserError, match=told) as error:
            use()
        assert "\n" not in str(error.value)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_no_store_and_an_empty_one(tmp_path):
    path = tmp_path / "a.db"
    with pytest.raises(UserError, match=r"there is no store '.*a\.db'; make one with `lanai run --store`"):
        Store(path).runs()
    path.touch()
    with pytest.raises(UserError, match="is empty"):
        Store(path).runs()
    Store(path).prepare()
    assert Store(path).runs() == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"cannot use the store .*unable to open"):
        store_of(str(tmp_path / "no" / "a.db"))
    assert store_of(None) is None


def test_a_file_that_may_not_be_written_is_read(tmp_path, monkeypatch):
    """Root may write everything; SQLite is told not to."""
    path = tmp_path / "a.db"
    Store(path).add(RUN)
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda at, **how: real(at.partition("?")[0] + "?mode=ro", **how))
    assert len(Store(path).runs()) == 1
    with pytest.raises(UserError, match=r"cannot use the store .*readonly.*; name a writable file"):
        Store(path).add(RUN)


def test_a_full_disk_is_told_and_harms_nothing(tmp_path):
    path = tmp_path / "a.db"
    Store(path).add(RUN)
    code = textwrap.dedent(f"""
        import resource, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from dataclasses import replace
        from test_store import RUN
        from lanai_sim.store import Store
        resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size + 5000}, resource.RLIM_INFINITY))
        try:
            Store({str(path)!r}).add(replace(RUN, result="x" * 100_000))
        except Exception as error:
            print(type(error).__name__, error)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=500, check=True)
    assert done.stdout.startswith(f"UserError cannot use the store '{path}': ")
    assert done.stdout.count("\n") == 1
    assert Store(path).runs() == [replace(RUN, id=1)]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


# The choice of stored runs.


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
