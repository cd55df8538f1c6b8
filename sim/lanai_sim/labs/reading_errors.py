"""Errors of a student's work in a sentence, with the line that they came from."""

import linecache
import traceback
from pathlib import Path

from lanai_hdl.errors import LanaiError

from .outcome import TooLong, Wrong


def sentence(error: BaseException, folder: Path, endless: str = "") -> str:
    """Return what is wrong, and where in the student's folder. `endless`: why a case may never end, if no line of the
    student's is at work."""
    if isinstance(error, Wrong | LanaiError):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename and _within(error.filename, folder):
        return _of_syntax(error)
    place = _place(error, folder)
    if isinstance(error, TooLong):
        return f"{error}{f', {place}' if place else f'; {endless}' if endless else ''}"
    if isinstance(error, TimeoutError):  # of the bench's watchdog, with a line for each process that waits
        return str(error).partition(";")[0]
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"{text}, {place}" if place else text


def _of_syntax(error: SyntaxError) -> str:
    line = (error.text or "").rstrip("\n")
    shown = f"\n    {line.strip()}" if line.strip() else ""
    if shown and error.offset:
        indent = len(line) - len(line.lstrip())
        shown += f"\n    {' ' * max(error.offset - 1 - indent, 0)}^"
    return f"{Path(str(error.filename)).name}:{error.lineno}: {error.msg}{shown}"


def _place(error: BaseException, folder: Path) -> str:
    """Return the innermost line of the student's that the error passed."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _within(frame.filename, folder):
            line = linecache.getline(frame.filename, frame.lineno or 0).strip()
            return f"at {Path(frame.filename).name}:{frame.lineno}: {line}"
    return ""


def _within(file: str, folder: Path) -> bool:
    """Return true for a file in the folder. Names of generated code, such as `<string>`, are relative paths too."""
    return Path(file).is_absolute() and Path(file).resolve().is_relative_to(folder)
