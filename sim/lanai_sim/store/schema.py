"""The tables of a store.

Any program that reads SQLite may read them. `config` and `result` are what `Job.from_json` and `Result.from_json`
read; `figures` has the same numbers as `result`, for queries.
"""

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
        system TEXT NOT NULL,                  -- of `lanai systems`; empty: another machine
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
