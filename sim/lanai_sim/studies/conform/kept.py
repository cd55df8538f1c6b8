"""Outcomes kept in files, module by module, so that a suite of hours can be interrupted and gone on
with, and a page can grow."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lanai_firmware import output_file
from lanai_host.errors import UserError

from .outcome import Outcome
from .suite import VERSION


class Kept:
    """One file in the directory of `--resume`. It belongs to one device, or one version of MPICH, and
    number of ranks. It has a line for each module, so that a line can be deleted by hand."""

    def __init__(self, directory: str | Path, device: str, ranks: int) -> None:
        name = device.replace(" ", "-").lower()  # MPICH 5.0.2
        self._path = Path(directory) / f"{name}.{ranks}.json"
        self._of = {"suite": "mpi4py", "version": VERSION, "device": device, "ranks": ranks}
        self._outcomes: dict[str, Outcome] = {}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--resume {str(directory)!r} is not a directory: {error.strerror}") from error
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        try:
            record = json.loads(self._path.read_text())
            self._outcomes = {name: Outcome(name, **values) for name, values in record["modules"].items()}
            found = record["of"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{str(self._path)!r} holds no outcomes ({error}); delete it") from error
        if found != self._of:
            raise UserError(f"{str(self._path)!r} is of {found}, this run of {self._of}; name another directory")

    def ended(self) -> set[str]:
        """The modules that came to their end."""
        return {name for name, outcome in self._outcomes.items() if not outcome.trouble}

    def go_on(self, names: Sequence[str], run: Callable[[str], Outcome]) -> Iterator[Outcome]:
        """The outcome of each module: from the file if it came to its end there, or run now."""
        for name in names:
            if name not in self.ended():
                self._outcomes[name] = run(name)
                self._write()
            yield self._outcomes[name]

    def _write(self) -> None:
        lines = [f"{json.dumps(name)}: {json.dumps(_compact(self._outcomes[name]))}" for name in sorted(self._outcomes)]
        modules = "{\n" + ",\n".join(lines) + "\n}"
        output_file.write(self._path, f'{{"of": {json.dumps(self._of)},\n"modules": {modules}}}\n', "the outcomes")


def _compact(outcome: Outcome) -> dict[str, object]:
    """Return the fields that do not have their empty values. Times are rounded to a tenth of a second, and
    to a tenth of a simulated microsecond."""
    fields = dataclasses.fields(Outcome)
    values = {field.name: getattr(outcome, field.name) for field in fields if field.name != "module"}
    values |= {"seconds": round(outcome.seconds, 1), "simulated": round(outcome.simulated, 4)}
    return {name: value for name, value in values.items() if value}
