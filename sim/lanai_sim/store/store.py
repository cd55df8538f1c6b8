"""The SQLite file that holds runs: written by one transaction a run, by any number of processes at a time.

Its journal is SQLite's usual one and not a write-ahead log, so that a store at rest is one file, which may be copied.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from lanai_hdl.errors import UserError

from ..tables import Library, of_rows
from .stored_run import StoredRun, rows

if TYPE_CHECKING:
    import pandas
    import polars

# The tables of a store.
#
# Any program that reads SQLite may read them. `config` and `result` are what `Job.from_json` and `Result.from_json`
# read; `figures` has the same numbers as `result`, for queries.

APPLICATION = 0x4C414E53  # SQLite's application_id: "LANS"
VERSION = 2  # SQLite's user_version; a change of the tables changes it
# By older version: what makes the next one of it. A store is changed when a run is added or deleted.
MIGRATIONS = {1: ("ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",)}
LATER = {"note": (2, "''")}  # columns of `runs` that older versions lack: since when, and what stands for them
TABLES = (
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,  -- an id is not given twice, even after it was deleted
        date TEXT NOT NULL,                    -- UTC
        command TEXT NOT NULL,                 -- JSON: the words of the process that ran it
        folder TEXT NOT NULL,                  -- where it ran
        program TEXT NOT NULL,                 -- JSON: what the ranks executed
        files TEXT NOT NULL,                   -- digest of the files that the program's words name
        ranks INTEGER NOT NULL,
        device TEXT NOT NULL,
        system TEXT NOT NULL,                  -- of `lanai list systems`; empty: another machine
        ending TEXT NOT NULL,
        code INTEGER NOT NULL,
        version TEXT NOT NULL,                 -- of openlanai
        "commit" TEXT NOT NULL,                -- of the checkout, "-dirty" if files differ; empty: installed
        sources TEXT NOT NULL,                 -- digest of all sources of openlanai
        versions TEXT NOT NULL,                -- JSON: of the packages that may decide a result
        config TEXT NOT NULL,                  -- JSON
        result TEXT NOT NULL,                  -- JSON
        note TEXT NOT NULL DEFAULT ''          -- what the user says of it; since version 2
    )
    """,
    """
    CREATE TABLE figures (
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        value NOT NULL,
        PRIMARY KEY (run, name)
    ) WITHOUT ROWID
    """,
)


DEFAULT = "lanai.db"
PATIENCE = 60.0  # seconds that a process waits for others that write
LARGEST = 2**63 - 1  # of SQLite's numbers
AS_JSON = ("command", "program", "versions")
COLUMNS = tuple(one.name for one in fields(StoredRun) if one.name not in ("id", "figures"))
NAMES = ", ".join(f'"{name}"' for name in COLUMNS)


class Store:
    """The runs of a project in one SQLite file. `Job.run(store=...)` and `lanai run --store` add to it."""

    def __init__(self, path: str | Path = DEFAULT) -> None:
        self.path = Path(path)

    def prepare(self) -> None:
        """Make the file if there is none. Raises UserError if no run can be added to it."""
        with self._opened("rwc") as db, _transaction(db):
            self._prepare(db)

    def add(self, run: StoredRun) -> int:
        """Add a run, and return its id. It is on the disk when this returns."""
        values = [json.dumps(getattr(run, name)) if name in AS_JSON else getattr(run, name) for name in COLUMNS]
        with self._opened("rwc") as db, _transaction(db):
            self._prepare(db)
            marks = ", ".join("?" * len(values))
            number = db.execute(f"INSERT INTO runs ({NAMES}) VALUES ({marks})", values).lastrowid
            assert number is not None
            figures = [(number, name, value) for name, value in run.figures.items()]
            db.executemany("INSERT INTO figures VALUES (?, ?, ?)", figures)
        return number

    def runs(self) -> list[StoredRun]:
        """Return all runs, the oldest first."""
        with self._opened("rw") as db, _transaction(db, "DEFERRED"):
            columns = _columns(self._check(db))
            figures: dict[int, dict[str, float]] = {}
            for number, name, value in db.execute("SELECT run, name, value FROM figures"):
                figures.setdefault(number, {})[name] = value
            return [_run(row, figures) for row in db.execute(f"SELECT id, {columns} FROM runs ORDER BY id")]

    def run(self, number: int) -> StoredRun:
        """Return the run with that id. Raises UserError if there is none."""
        if number > LARGEST:
            raise self._absent([number])
        with self._opened("rw") as db, _transaction(db, "DEFERRED"):
            columns = _columns(self._check(db))
            figures = dict(db.execute("SELECT name, value FROM figures WHERE run = ?", (number,)))
            row = db.execute(f"SELECT id, {columns} FROM runs WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise self._absent([number])
        return _run(row, {number: figures})

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete the runs with these ids, or none of them if one is not there (UserError)."""
        wanted = list(dict.fromkeys(numbers))
        with self._opened("rw") as db, _transaction(db):
            self._migrate(db, self._check(db))
            known = {number for (number,) in db.execute("SELECT id FROM runs")}
            if absent := [number for number in wanted if number not in known]:
                raise self._absent(absent)
            db.executemany("DELETE FROM runs WHERE id = ?", [(number,) for number in wanted])

    @overload
    def frame(self, library: Literal["pandas"]) -> "pandas.DataFrame": ...
    @overload
    def frame(self, library: Literal["polars"]) -> "polars.DataFrame": ...
    @overload
    def frame(self, library: Library | None = None) -> Any: ...
    def frame(self, library: Library | None = None) -> Any:
        """Return all runs as a frame of pandas or polars: a row a run, with its figures and the settings that are not
        the same in all of them."""
        return of_rows(rows(self.runs()), library)

    def _absent(self, numbers: Sequence[int]) -> UserError:
        told = ", ".join(map(str, numbers))
        return UserError(f"the store {str(self.path)!r} has no run {told}; `lanai results` lists its runs")

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Give a connection. Raises UserError for what SQLite cannot do."""
        if mode == "rw" and not self.path.exists():
            raise UserError(f"there is no store {str(self.path)!r}; make one with `lanai run --store`, or name it")
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as db:
                db.execute("PRAGMA foreign_keys = ON")
                yield db
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Give an empty database its tables, and a store of an older version those of this one."""
        if not self._check(db, empty=True):
            for statement in TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
        self._migrate(db, self._check(db))

    def _migrate(self, db: sqlite3.Connection, version: int) -> None:
        """Give a store of an older version the tables of this one, within the transaction that is open."""
        for older in range(version, VERSION):
            for statement in MIGRATIONS[older]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {older + 1}")

    def _check(self, db: sqlite3.Connection, empty: bool = False) -> int:
        """Return the version of a store; 0: the database is empty, and `empty` allows that. Raises UserError for what
        cannot be read."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not application and not tables:
            if not empty:
                raise UserError(f"the store {str(self.path)!r} is empty; add a run to it with `lanai run --store`")
            return 0
        if application != APPLICATION:
            raise UserError(f"{str(self.path)!r} is a database of another program; name a store of results")
        if version != VERSION and version not in MIGRATIONS:
            known = " and ".join(map(str, [*MIGRATIONS, VERSION]))
            raise UserError(
                f"{str(self.path)!r} is a store of version {version}, this openlanai reads {known}; name another, or "
                "use the openlanai that made it"
            )
        return int(version)

    def _refused(self, error: sqlite3.Error) -> UserError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        path = str(self.path)
        if code == sqlite3.SQLITE_NOTADB:
            return UserError(f"{path!r} is not a store of results; name another file")
        if code == sqlite3.SQLITE_BUSY:
            return UserError(f"another process has held the store {path!r} for {PATIENCE:g} s; end it, or try again")
        if code == sqlite3.SQLITE_CORRUPT:
            return UserError(f"the store {path!r} is damaged ({error}); name another")
        mend = "make room, or name a file elsewhere" if code == sqlite3.SQLITE_FULL else "name a writable file"
        return UserError(f"cannot use the store {path!r}: {error}; {mend}")


def store_of(path: str | None) -> str | None:
    """Return the absolute path of a store for workers, once it is ready to take runs. Raises UserError."""
    if path is None:
        return None
    Store(path).prepare()
    return str(Path(path).absolute())


def _columns(version: int) -> str:
    """Return what to select of the runs of a store of this version."""
    since = {name: LATER.get(name, (0, "")) for name in COLUMNS}
    return ", ".join(f'"{name}"' if version >= first else default for name, (first, default) in since.items())


@contextmanager
def _transaction(db: sqlite3.Connection, how: str = "IMMEDIATE") -> Iterator[None]:
    """Do all of it or nothing."""
    db.execute(f"BEGIN {how}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _run(row: Sequence[Any], figures: dict[int, dict[str, float]]) -> StoredRun:
    values = dict(zip(COLUMNS, row[1:], strict=True))
    decoded = {name: json.loads(values[name]) for name in AS_JSON}
    words = {name: tuple(decoded[name]) for name in ("command", "program")}
    return StoredRun(**{**values, **decoded, **words}, figures=figures.get(row[0], {}), id=row[0])
