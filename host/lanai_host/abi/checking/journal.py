"""The file that a rank writes its records to."""

import json
import os
from pathlib import Path
from typing import Any

from ... import real_time
from ...errors import UserError

MOST_BYTES = 1 << 28  # of records, after which a rank writes none; the summary says so


class Journal:
    """Records, each in the file before the rank goes on: a rank may be killed at any time."""

    def __init__(self, directory: str, rank: int) -> None:
        path = Path(directory) / f"rank{rank}.jsonl"
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(f"cannot write the records of rank {rank}: {error}") from error
        self._left = MOST_BYTES
        self.full = False

    def put(self, kind: str, number: int, **fields: Any) -> None:
        """Append a record of call `number`. Fields that are None are left out."""
        if self.full:
            return
        record = {"k": kind, "n": number, "t": int(1e9 * real_time.monotonic())}
        record.update((name, value) for name, value in fields.items() if value is not None)
        self._write(record)

    def _write(self, record: dict[str, Any]) -> None:
        line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        self._left -= len(line)
        if self._left < 0:
            self.full = True
            line = b'{"k":"full","n":0,"t":0}\n'
        os.write(self._file, line)
