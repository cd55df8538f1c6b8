"""Content-addressed cache of built artefacts: images, Verilated models, libraries.

A key is a digest of everything that the artefact depends on, so an entry is never stale and may be shared by processes.
Entries appear atomically (written beside, then renamed) and carry their own digest: a damaged one is reported, not used.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from .errors import UserError

DIGEST = hashlib.sha256
DIGEST_SIZE = DIGEST().digest_size


class CorruptEntry(UserError):
    """A cached file whose content no longer has the digest it was written with."""


def directory() -> Path:
    """Where artefacts live: $LANAI_CACHE, else $XDG_CACHE_HOME/openlanai, else ~/.cache/openlanai. Made on first use."""
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
    """The digest of `parts` in order. Lengths are hashed too, so that ("ab", "c") and ("a", "bc") differ."""
    digest = DIGEST()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def path_of(key: str, kind: str) -> Path:
    """The file of an entry, present or not. `kind` is its suffix and says what it is: "image", "so", ..."""
    return directory() / kind / key[:2] / f"{key}.{kind}"


def write_atomic(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, so that another process sees either nothing or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def read(key: str, kind: str) -> bytes | None:
    """The entry's content; None if there is none. Raises `CorruptEntry` if it was damaged since it was written."""
    path = path_of(key, kind)
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, data = stored[:DIGEST_SIZE], stored[DIGEST_SIZE:]
    if DIGEST(data).digest() != digest:
        raise CorruptEntry(
            f"cached {kind} {str(path)!r} is corrupted: its content ({len(data)} bytes) has digest "
            f"{DIGEST(data).hexdigest()[:16]}, recorded is {digest.hex()[:16]}; delete the file to build it again"
        )
    return data


def write(key: str, kind: str, data: bytes) -> None:
    write_atomic(path_of(key, kind), DIGEST(data).digest() + data)


def build(key: str, kind: str, producer: Callable[[], bytes]) -> bytes:
    """The entry's content, made by `producer` if it is not there yet."""
    found = read(key, kind)
    if found is None:
        found = producer()
        write(key, kind, found)
    return found
