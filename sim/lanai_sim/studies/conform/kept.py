"""Outcomes kept in a file, module by module, so that a suite of hours can be interrupted and gone
on with."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lanai_host.errors import UserError

from .outcome import Outcome
from .suite import VERSION


class Kept:
    """The file of `--resume`, or the one beside it for the place of `--against`. It belongs to one
    device, or one version of MPICH, and number of ranks."""

    def __init__(self, path: str | Path, device: str, ranks: int) -> None:
        self._path = Path(path)
        self._of = {"suite": "mpi4py", "version": VERSION, "device": device, "ranks": ranks}
        self._outcomes: dict[str, Outcome] = {}
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        try:
            record = json.loads(self._path.read_text())
            self._outcomes = {name: Outcome(**values) for name, values in record["modules"].items()}
            found = record["of"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"--resume {str(self._path)!r} holds no outcomes ({error}); name a new file") from error
        if found != self._of:
            raise UserError(f"--resume {str(self._path)!r} is of {found}, this run of {self._of}; name another file")

    def go_on(self, names: Sequence[str], run: Callable[[str], Outcome]) -> Iterator[Outcome]:
        """The outcome of each module: from the file if it came to its end there, or run now."""
        for name in names:
            if name not in self._outcomes or self._outcomes[name].trouble:
                self._outcomes[name] = run(name)
                self._write()
            yield self._outcomes[name]

    def _write(self) -> None:
        modules = {name: dataclasses.asdict(outcome) for name, outcome in sorted(self._outcomes.items())}
        try:
            self._path.write_text(json.dumps({"of": self._of, "modules": modules}, indent=1) + "\n")
        except OSError as error:
            raise UserError(f"--resume {str(self._path)!r} cannot be written: {error.strerror}") from error
