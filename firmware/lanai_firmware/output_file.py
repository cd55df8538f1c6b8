"""Files that users ask for: each is written whole, or stays as it was."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lanai_hdl.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write(path: str | Path, content: str | bytes, what: str) -> None:
    """Write a file of text, as UTF-8, or of bytes. `what` says in an error what could not be written."""
    with replaced(path, what) as place:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replaced(path: str | Path, what: str) -> Iterator[Path]:
    """Give a name to write to. The file there takes the place of `path` at the end, if nothing was
    raised.

    Raises UserError for an OSError. What is not a regular file, such as /dev/stdout or a pipe, is
    written directly, as is a file in a directory in which no other may be made.
    """
    target = Path(os.path.realpath(path))
    try:
        if _direct(Path(path)):
            yield Path(path)
            return
        place = target.with_name(f".lanai-{secrets.token_hex(8)}{''.join(target.suffixes[-2:])[-20:]}")
        try:
            yield place
            with suppress(FileNotFoundError):
                place.chmod(stat.S_IMODE(target.stat().st_mode))
            place.replace(target)
        finally:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(path, what, error) from error


def check(path: str | Path, what: str) -> None:
    """Raise UserError for a file that cannot be written, as far as that can be told before the work for it."""
    try:
        written = str(path)
        if not _direct(Path(path)):
            written = os.path.join(os.path.dirname(os.path.realpath(path)), ".")
            os.stat(written)
        if not os.access(written, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _refused(path, what, error) from error


def _refused(path: str | Path, what: str, error: OSError) -> UserError:
    mend = "make room, or name a file elsewhere" if error.errno in FULL else "name a writable file"
    return UserError(f"cannot write {what} {str(path)!r}: {error.strerror or error}; {mend}")


def _direct(path: Path) -> bool:
    if not path.exists():
        return False
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    opened = str(path).startswith(("/dev/", "/proc/"))  # /dev/stdout may be a file that this process writes
    return opened or not path.is_file() or not os.access(Path(os.path.realpath(path)).parent, os.W_OK)
