"""Content-addressed cache of built artefacts: images, Verilated models, libraries, the tests of
mpi4py.

A key is a digest of everything that the artefact depends on, so an entry is never stale and
processes share it. An entry is a directory. It appears by rename, so that no process sees half of
one, and it lists the digests of its files. Every use checks them: an entry that was damaged is
built again, before a linker or loader can crash on it. One process builds an entry while others
wait for its lock.
"""

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

from .errors import UserError
from .output_file import FULL

DIGEST = "sha256"
DIGESTS = "DIGESTS"  # the file of an entry that lists the others
END = "end"  # its last line
CHUNK = 1 << 16  # bytes read at a time: a rank's heap must not depend on how large a library is
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)  # of a file system without locks
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)

Result = TypeVar("Result")


def directory() -> Path:
    """Where artefacts live: $LANAI_CACHE, else $XDG_CACHE_HOME/openlanai, else ~/.cache/openlanai.
    Made on first use."""
    chosen = os.environ.get("LANAI_CACHE")
    if not chosen:
        home = os.environ.get("XDG_CACHE_HOME")
        chosen = str((Path(home) if home else Path.home() / ".cache") / "openlanai")
    path = Path(chosen)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the cache directory {str(path)!r}: {error.strerror}; set LANAI_CACHE to a writable one"
        ) from error
    return path


def key_of(parts: Iterable[bytes | str]) -> str:
    """The digest of `parts` in order. Lengths are hashed too, so that ("ab", "c") and ("a", "bc")
    differ."""
    digest = hashlib.new(DIGEST)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def place(kind: str, key: str) -> Path:
    """The directory of an entry, present or not. `kind` says what it is: "image", "rtl", "abi",
    ..."""
    return directory() / kind / key[:2] / key


def entry(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The directory of an entry. `make(work)` fills the directory `work` if the entry is absent or
    damaged.

    `work` becomes the entry. Raises UserError if the cache cannot be read or written; other errors
    of `make` pass through.
    """
    path = place(kind, key)
    if damage(path) is None:
        return path
    _refusing(path.parent, lambda: path.parent.mkdir(parents=True, exist_ok=True))
    with _locked(path) as alone:
        found = damage(path)
        if found is None:  # another process built it while this one waited
            return path
        if path.exists():
            print(
                f"lanai: note: the cached {kind} {str(path)!r} is damaged ({found}); it is built again", file=sys.stderr
            )
        _build(path, make, alone)
    return path


def file(kind: str, key: str, name: str, make: Callable[[Path], None]) -> Path:
    """The file `name` of an entry, which `make(path)` writes if the entry is absent or damaged."""
    return entry(kind, key, lambda work: make(work / name)) / name


def build(key: str, kind: str, producer: Callable[[], bytes]) -> bytes:
    """The content of an entry of one file, which `producer` makes if the entry is absent or
    damaged."""
    return file(kind, key, f"content.{kind}", lambda path: _write(path, producer())).read_bytes()


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def damage(path: Path) -> str | None:
    """What is wrong with an entry: None if nothing is. Raises UserError if it may not be read.

    Files that were added later, such as Python's `__pycache__`, do no harm.
    """
    if not path.exists():
        return "it is absent"
    try:
        recorded = (path / DIGESTS).read_text(encoding="utf-8").splitlines()
        if not recorded or recorded[-1] != END:
            return f"{DIGESTS} is incomplete"
        for line in recorded[:-1]:
            digest, _, name = line.partition(" ")
            if _digest(path / name) != digest:
                return f"{name} has another content than was written"
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        return f"{Path(error.filename).name} is missing"
    except ValueError:  # no text, or no path
        return f"{DIGESTS} is no list of files"
    except OSError as error:
        raise UserError(
            f"cannot read the cache {str(error.filename or path)!r}: {error.strerror}; "
            "mend that, or set LANAI_CACHE to another directory"
        ) from error
    return None


def _digest(path: Path) -> str:
    """Of a file's content; of a link, where it leads."""
    if path.is_symlink():
        return f"link:{os.readlink(path)}"
    digest = hashlib.new(DIGEST)
    with path.open("rb") as opened:
        while piece := opened.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _digests(path: Path) -> str:
    """The text of DIGESTS: one line for each file of an entry."""
    files = sorted(found for found in path.rglob("*") if found.is_symlink() or found.is_file())
    return "".join(f"{_digest(found)} {found.relative_to(path).as_posix()}\n" for found in files) + f"{END}\n"


def _build(path: Path, make: Callable[[Path], None], alone: bool) -> None:
    """Make the entry beside its place and rename it. `alone`: the caller holds the entry's lock."""
    prefix = f".partial-{path.name[:16]}-"
    if alone:
        for left in path.parent.glob(f"{prefix}*"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
    work = path.parent / f"{prefix}{secrets.token_hex(8)}"
    _refusing(path.parent, work.mkdir)
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
    (work / DIGESTS).write_text(_digests(work), encoding="utf-8")
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
            fcntl.flock(handle, fcntl.LOCK_EX)
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
