"""The contents of the cache: sizes, a limit, and entries that are handed on to another machine."""

import os
import re
import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lanai_hdl.cache_entries import FOLDER_MODE, damage, directory, place
from lanai_hdl.errors import UserError

from .output_file import replaced

VARIABLE = "LANAI_CACHE_LIMIT"
LIMIT = 4 * 10**9  # bytes, unless the variable says otherwise
UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
IN_USE = 24 * 3600.0  # seconds after its last use in which an entry stays: a run may come back to it
TIDY_EVERY = 3600.0
TIDIED = ".tidied"  # its time is that of the last look at the limit
LEFT_BEHIND = 24 * 3600.0  # seconds after which a directory of a killed process goes
ENTRY = re.compile(r"(?P<kind>[a-z0-9_-]+)/(?P<head>[0-9a-f]{2})/(?P<key>(?P=head)[0-9a-f]+)")


@dataclass(frozen=True)
class Stored:
    """An entry: its size in bytes, and when it was used last."""

    kind: str
    key: str
    size: int
    used: float

    @property
    def path(self) -> Path:
        return place(self.kind, self.key)


def stored() -> list[Stored]:
    """Every entry of the cache, the one that was used longest ago first."""
    found = []
    for path in directory().glob("*/??/*"):
        name = ENTRY.fullmatch(path.relative_to(directory()).as_posix())
        with suppress(OSError):  # it has gone meanwhile
            if name and path.is_dir():
                size = sum(file.lstat().st_size for file in path.rglob("*"))
                found.append(Stored(name["kind"], name["key"], size, path.stat().st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.key))


def limit() -> int | None:
    """Return the size in bytes that the cache may reach; None without a limit."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return LIMIT
    return size(text, f"{VARIABLE}={text!r}") or None


def size(text: str, where: str) -> int:
    """'2G' as a number of bytes. UserError says where it stands."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) *([kmgt]?)b?", text.strip().lower())
    if found is None:
        raise UserError(f"{where} is not a size; write a number and a unit, such as 500M or 2G (0: no limit)")
    return int(float(found[1]) * UNITS.get(found[2], 1))


@dataclass(frozen=True)
class Pruned:
    """The entries that went, and those that should have gone but that this user may not remove."""

    gone: list[Stored]
    kept: list[Stored]


def prune(to: int, keep: float = 0.0) -> Pruned:
    """Remove entries, those first that were used longest ago, until the cache has `to` bytes at
    most. Those used in the last `keep` seconds stay."""
    entries = stored()
    total, now, pruned = sum(entry.size for entry in entries), time.time(), Pruned([], [])
    for entry in entries:
        if total <= to or now - entry.used < keep:
            break
        if remove(entry.path):
            total -= entry.size
            pruned.gone.append(entry)
        else:
            pruned.kept.append(entry)
    _remove_left_behind(now)
    return pruned


def remove(path: Path) -> bool:
    """Remove an entry, which no process sees half removed. Return whether it is gone."""
    away = path.with_name(f".partial-{secrets.token_hex(8)}")
    with suppress(OSError):
        path.rename(away)
    shutil.rmtree(away, ignore_errors=True)
    return not path.exists()


def _remove_left_behind(now: float) -> None:
    for path in (*directory().glob("*/??/.partial-*"), *directory().glob(".import-*")):
        with suppress(OSError):
            if now - path.stat().st_mtime > LEFT_BEHIND:
                shutil.rmtree(path, ignore_errors=True)


def tidy() -> None:
    """Keep the limit: called after something was built, it looks once an hour."""
    stamp = directory() / TIDIED
    with suppress(OSError):
        if stamp.exists() and time.time() - stamp.stat().st_mtime < TIDY_EVERY:
            return
        stamp.touch()
        most = limit()
        if most is not None:
            prune(most, IN_USE)


def export(file: str, entries: Sequence[Stored]) -> int:
    """Write entries to a compressed archive; how many. Those whose links lead elsewhere are left
    out: they are of this machine alone."""
    import tarfile

    chosen = [entry for entry in entries if damage(entry.path) is None and not _leads_elsewhere(entry.path)]
    with replaced(file, "the archive") as path, tarfile.open(path, "w:gz", compresslevel=3) as archive:
        for entry in chosen:
            archive.add(entry.path, entry.path.relative_to(directory()).as_posix())
    return len(chosen)


def _leads_elsewhere(path: Path) -> bool:
    links = [os.readlink(link) for link in path.rglob("*") if link.is_symlink()]
    return any(os.path.isabs(link) or ".." in Path(link).parts for link in links)


def add(file: str) -> tuple[int, int]:
    """Take entries from an archive: how many were new, and how many were here already.

    Raises UserError for what `export` did not write, and for a file of which a bit has changed. Entries
    hold programs: an archive is as trustworthy as who made it.
    """
    import gzip
    import tarfile
    import zlib

    if not hasattr(tarfile, "data_filter"):
        raise UserError("archives are imported by Python 3.11.4 or later, which checks where they write")
    work = directory() / f".import-{secrets.token_hex(8)}"
    try:
        with gzip.open(file) as packed:
            while packed.read(1 << 20):  # its checksum: a damaged header ends an archive for tarfile, without an error
                pass
        with tarfile.open(file, "r:gz") as archive:
            archive.extractall(work, filter="data")
        return _take(file, work)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise UserError(
            f"cannot import {file!r}: {error}; name a file that `lanai cache export` wrote, and that is whole"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _take(file: str, work: Path) -> tuple[int, int]:
    new = known = 0
    for path in sorted(work.glob("*/??/*")):
        name = ENTRY.fullmatch(path.relative_to(work).as_posix())
        if name is None or damage(path) is not None:
            raise UserError(
                f"cannot import {file!r}: {path.name!r} is not an entry of a cache or is damaged; name a file that "
                "`lanai cache export` wrote"
            )
        target = place(name["kind"], name["key"])
        if damage(target) is None:
            known += 1
            continue
        remove(target)
        for folder in (target.parent.parent, target.parent):
            folder.mkdir(FOLDER_MODE, exist_ok=True)
        path.rename(target)
        os.utime(target)
        new += 1
    return new, known
