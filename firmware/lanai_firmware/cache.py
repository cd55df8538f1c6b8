"""Content-addressed cache of built artefacts: images, Verilated models, libraries, the tests of
mpi4py.

A key is a digest of everything that the artefact depends on, so an entry is never stale and
processes share it. An entry is a directory. It appears by rename, so that no process sees half of
one, and it lists the digests of its files. Every use checks them: an entry that was damaged is
built again, before a linker or loader can crash on it. One process builds an entry while others
wait for its lock.

A wheel may have brought entries along, in `SHIPPED`. They are found by what they are made of (`Key`),
whatever tools made them.
"""

import errno
import fcntl
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import NoReturn, TypeVar

import lanai_hdl
from lanai_hdl.cache_entries import (
    DIGESTS,
    END,
    FOLDER_MODE,
    below,
    damage,
    digests,
    directory,
    key_of,
    mark_used,
    place,
)  # fmt: skip
from lanai_hdl.errors import UserError

from .building import Work
from .cache_upkeep import limit, tidy
from .output_file import FULL

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)  # of a file system without locks
WAIT = "waiting for it"
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)

# Entries of a wheel, and the variable that names the folder to make them in: then only what a `Key` finds goes there.
SHIPPED = Path(lanai_hdl.__file__).parents[1] / "openlanai_built"
INTO = "LANAI_BUILD_INTO"

_told: set[Path] = set()  # of a wheel: entries whose damage was told
Result = TypeVar("Result")

__all__ = [
    "DIGESTS", "END", "Key", "build", "damage", "directory", "entry", "file", "kept", "key_of", "place", "present",
    "shipped", "where",
]  # fmt: skip


@dataclass(frozen=True)
class Key:
    """The key of what a wheel may bring: `made_of` is a digest of the sources and of the machine that it is for,
    `tools` tells what makes it here. They are not asked for where the wheel has the entry."""

    made_of: str
    tools: Callable[[], Iterable[str]] = field(default=tuple, compare=False)

    @cached_property
    def here(self) -> str:
        tools = list(self.tools())
        return key_of([self.made_of, *tools]) if tools else self.made_of


def entry(kind: str, key: str | Key, make: Callable[[Path], None]) -> Path:
    """The directory of an entry. `make(work)` fills the directory `work` if the entry is absent or
    damaged.

    `work` becomes the entry. Raises UserError if the cache cannot be read or written; other errors
    of `make` pass through.
    """
    if (brought := shipped(kind, key)) is not None:
        return brought
    path = where(kind, key)
    if damage(path) is None:
        mark_used(path)
        return path
    limit()  # one that cannot be read is refused before something is built
    for folder in (path.parent.parent, path.parent):
        _refusing(path.parent, partial(folder.mkdir, FOLDER_MODE, exist_ok=True))
    with _locked(path) as alone:
        found = damage(path)
        if found is None:  # another process built it while this one waited
            return path
        if path.exists():
            print(
                f"lanai: note: the cached {kind} {str(path)!r} is damaged ({found}); it is built again", file=sys.stderr
            )
        _build(path, make, alone)
    tidy()
    return path


def present(kind: str, key: str | Key) -> Path | None:
    """The directory of an entry that is whole; None if it is absent or damaged."""
    if (brought := shipped(kind, key)) is not None:
        return brought
    path = where(kind, key)
    if damage(path) is not None:
        return None
    mark_used(path)
    return path


def file(kind: str, key: str | Key, name: str, make: Callable[[Path], None]) -> Path:
    """The file `name` of an entry, which `make(path)` writes if the entry is absent or damaged."""
    return entry(kind, key, lambda work: make(work / name)) / name


def kept(make: Callable[[], Path]) -> Callable[[], Path]:
    """Make a function that asks `make` for an entry's file once, and again if that is gone: another process may empty
    the cache while this one, say a notebook, goes on."""
    found: list[Path] = []

    @wraps(make)
    def path() -> Path:
        if not found or not found[-1].exists():
            found[:] = [make()]
        return found[-1]

    return path


def build(key: str | Key, kind: str, producer: Callable[[], bytes]) -> bytes:
    """The content of an entry of one file, which `producer` makes if the entry is absent or
    damaged."""
    return file(kind, key, f"content.{kind}", lambda path: _write(path, producer())).read_bytes()


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def shipped(kind: str, key: str | Key) -> Path | None:
    """The directory of an entry that a wheel has brought; None if there is none, or it is damaged: a note says so."""
    if isinstance(key, str) or INTO in os.environ:
        return None
    path = below(SHIPPED, kind, key.made_of)
    found = damage(path) if path.exists() else ""
    if found and path not in _told:
        _told.add(path)
        print(
            f"lanai: note: {str(path)!r} of the wheel is damaged ({found}); it is built here; "
            "write: pip install --force-reinstall openlanai",
            file=sys.stderr,
        )
    return None if found is not None else path


def where(kind: str, key: str | Key) -> Path:
    """The directory of an entry that no wheel has brought, present or not."""
    if isinstance(key, str):
        return place(kind, key)
    into = os.environ.get(INTO)
    return below(Path(into), kind, key.made_of) if into else place(kind, key.here)


def _build(path: Path, make: Callable[[Path], None], alone: bool) -> None:
    """Make the entry beside its place and rename it. `alone`: the caller holds the entry's lock."""
    prefix = f".partial-{path.name[:16]}-"
    if alone:
        for left in path.parent.glob(f"{prefix}*"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
    work = path.parent / f"{prefix}{secrets.token_hex(8)}"
    _refusing(path.parent, partial(work.mkdir, FOLDER_MODE))
    try:
        try:
            make(work)
        except OSError as error:
            if error.errno in (*FULL, *REFUSED):
                _refuse(path.parent, error)
            raise
        _refusing(path.parent, lambda: _finish(work, path))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _finish(work: Path, path: Path) -> None:
    (work / DIGESTS).write_text(digests(work), encoding="utf-8")
    try:
        work.rename(path)
    except OSError:
        if damage(path) is None:  # of a process that built it meanwhile, on a file system without locks
            return
        damaged = work.with_name(f"{work.name}-damaged")
        path.rename(damaged)
        work.rename(path)
        shutil.rmtree(damaged, ignore_errors=True)


def _refusing(folder: Path, work: Callable[[], Result]) -> Result:
    try:
        return work()
    except OSError as error:
        _refuse(folder, error)


def _refuse(folder: Path, error: OSError) -> NoReturn:
    raise UserError(
        f"cannot write the cache {str(folder)!r}: {error.strerror}; set LANAI_CACHE to a writable directory with room"
    ) from error


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the lock of an entry: a file beside it, which goes when the lock does. False if this
    file system has no locks."""
    lock = path.with_name(f".lock-{path.name}")
    handle, alone = _refusing(path.parent, lambda: _acquire(lock))
    try:
        yield alone
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _acquire(lock: Path) -> tuple[int, bool]:
    """The open lock file, and whether it is locked."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            _lock(handle)
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                return handle, True
        except FileNotFoundError:  # its last holder removed it
            pass
        except OSError as error:
            if error.errno in NO_LOCKS:
                return handle, False
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with Work("another process, which builds the same", "", {WAIT: 0.0}, "waiting for", "waited for") as wait:
            wait.step(WAIT)
            fcntl.flock(handle, fcntl.LOCK_EX)
