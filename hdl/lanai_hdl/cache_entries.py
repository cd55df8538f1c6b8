"""Entries of the cache: where they are, and whether they are whole."""

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import platformdirs

from .errors import UserError

DIGEST = "sha256"
DIGESTS = "DIGESTS"  # the file of an entry that lists the others
END = "end"  # its last line
BYTECODE = "__pycache__"
CHUNK = 1 << 16  # bytes read at a time: a rank's heap must not depend on how large a library is
FOLDER_MODE = 0o755  # less what the umask takes
MARK_SECONDS = 3600.0  # how exactly the last use of an entry is known


def directory() -> Path:
    """Return the folder of artefacts: $LANAI_CACHE, else `openlanai` in this system's directory for caches
    ($XDG_CACHE_HOME, else ~/.cache on Linux). Made on first use. What it holds is loaded and run: raises UserError
    if another user may write there, or if the file system lets nothing run."""
    chosen = os.environ.get("LANAI_CACHE")
    path = Path(chosen) if chosen else platformdirs.user_cache_path("openlanai", appauthor=False)
    try:
        path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        danger = danger_of(path.stat(), os.geteuid())
    except OSError as error:
        raise UserError(
            f"cannot make the cache directory {str(path)!r}: {error.strerror}; set LANAI_CACHE to a writable one"
        ) from error
    if danger:
        raise UserError(
            f"the cache {str(path)!r} {danger}, who could have programs of this user run what they put there; "
            "set LANAI_CACHE to a directory that is yours alone, or write: chmod -R go-w DIRECTORY"
        )
    if _lets_nothing_run(path):
        raise UserError(
            f"the cache {str(path)!r} is on a file system from which nothing may be run (noexec); "
            "set LANAI_CACHE to a directory elsewhere"
        )
    return path


def _lets_nothing_run(folder: Path) -> bool:
    """Return whether its file system is known to be mounted with noexec."""
    with suppress(OSError):
        return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)
    return False


def danger_of(folder: os.stat_result, user: int) -> str:
    """Return who else than this user and root may write a folder; empty if nobody."""
    if folder.st_uid not in (user, 0):
        return f"belongs to user {folder.st_uid}"
    if folder.st_mode & stat.S_IWOTH:
        return "can be written by all users"
    if folder.st_mode & stat.S_IWGRP and not _is_own_group(folder.st_gid, user):
        return f"can be written by group {folder.st_gid}"
    return ""


def _is_own_group(group: int, user: int) -> bool:
    """Many systems give each user a group, by the user's name, and let it write by default."""
    import grp
    import pwd

    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(user).pw_name
    except KeyError:
        return group == user


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
    return below(directory(), kind, key)


def below(folder: Path, kind: str, key: str) -> Path:
    """The directory of an entry in a folder of entries."""
    return folder / kind / key[:2] / key


def damage(path: Path) -> str | None:
    """Return what is wrong with an entry: None if nothing is. Raises UserError if it may not be read.

    A file that the list lacks is damage too: a loader might take it for one of ours. Python's `__pycache__` may
    have come later.
    """
    if not path.exists():
        return "it is absent"
    try:
        recorded = (path / DIGESTS).read_text(encoding="utf-8").splitlines()
        if not recorded or recorded[-1] != END:
            return f"{DIGESTS} is incomplete"
        listed = {DIGESTS}
        for line in recorded[:-1]:
            digest, _, name = line.partition(" ")
            if _digest(path / name) != digest:
                return f"{name} has another content than was written"
            listed.add(name)
        for found in _files(path):
            name = found.relative_to(path)
            if name.as_posix() not in listed and BYTECODE not in name.parts:
                return f"{name} was not written with it"
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        return f"{Path(error.filename).name} is missing"
    except ValueError:  # no text, or no path
        return f"{DIGESTS} is not a list of files"
    except OSError as error:
        raise UserError(
            f"cannot read the cache {str(error.filename or path)!r}: {error.strerror or error}; "
            "mend that, or set LANAI_CACHE to another directory"
        ) from error
    return None


def _digest(path: Path) -> str:
    """Return the hash of a file's content; of a link, that of the place where it leads."""
    if path.is_symlink():
        return f"link:{os.readlink(path)}"
    digest = hashlib.new(DIGEST)
    with path.open("rb") as opened:
        while piece := opened.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def digests(path: Path) -> str:
    """The text of DIGESTS: one line for each file of an entry."""
    files = [found for found in _files(path) if found.is_symlink() or found.is_file()]
    return "".join(f"{_digest(found)} {found.relative_to(path).as_posix()}\n" for found in files) + f"{END}\n"


def _files(path: Path) -> list[Path]:
    """The files that an entry holds beside folders."""
    return sorted(found for found in path.rglob("*") if found.is_symlink() or not found.is_dir())


def mark_used(path: Path) -> None:
    """Note that an entry is in use, by the time of its directory. A cache that cannot be written
    stays as it is."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > MARK_SECONDS:
            os.utime(path)
