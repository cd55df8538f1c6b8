"""The files that a run has written, in a folder and below it."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

LONGEST = 1 << 20  # bytes of a file that is compared line by line; of longer ones a digest is
MOST = 10_000  # files that are looked at
COARSE = 5_000_000  # nanoseconds by which the time of a file may be behind the clock


class Written:
    """Finds the files in `folder` that a run has written. `but`: files that are not a program's."""

    def __init__(self, folder: Path, but: Iterable[str] = ()) -> None:
        self._folder = folder
        self._but = {str(Path(name).resolve()) for name in but}

    def since(self, begin: int) -> dict[str, str]:
        """Return the files that were written since a time, in nanoseconds, with what is in them."""
        found = {}
        for path in self._files():
            if path.stat().st_mtime_ns >= begin - COARSE:
                found[str(path.relative_to(self._folder))] = _text(path)
        return found

    def _files(self) -> Iterator[Path]:
        count = 0
        for place, folders, names in os.walk(self._folder):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
            for name in sorted(names):
                path = Path(place, name)
                count += 1
                if count > MOST:
                    return
                if path.is_file() and str(path.resolve()) not in self._but:
                    yield path


def _text(path: Path) -> str:
    data = path.read_bytes()
    if len(data) > LONGEST:
        return f"{len(data)} bytes, digest {hashlib.sha256(data).hexdigest()[:16]}"
    return data.decode(errors="backslashreplace")
