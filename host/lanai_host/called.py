"""The program of a rank that calls one Python function: `python -m lanai_host.called FOLDER`.

The folder's file `call` holds the pickled search path of modules, and after it the function with its
arguments. The rank writes what came of the call to `answer.RANK`.
"""

import os
import pickle
import sys
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .simulator.protocol import ENV_RANK

CALL = "call"


@dataclass(frozen=True)
class Answer:
    """The outcome of a rank's call: a pickled value, or a pickled exception and its traceback's text. An exception that
    cannot be pickled is None.
    """

    value: bytes | None = None
    error: bytes | None = None
    traceback: str = ""


def answer_file(folder: Path, rank: int) -> Path:
    return folder / f"answer.{rank}"


def call(folder: Path) -> None:
    """Call the function and write the answer. An exception passes on, so that the rank fails as any program does."""
    with open(folder / CALL, "rb") as file:
        path = pickle.load(file)
        sys.path += [place for place in path if place not in sys.path]
        function, args, kwargs = pickle.load(file)
    try:
        answer = Answer(_pickled(function(*args, **kwargs)))
    except Exception as error:
        sys.excepthook = lambda *_: None  # the caller raises it
        answer = Answer(error=_pickled_error(error), traceback=_text(error))
        raise
    finally:
        answer_file(folder, int(os.environ[ENV_RANK])).write_bytes(pickle.dumps(asdict(answer)))


def _pickled(value: Any) -> bytes:
    import cloudpickle  # of classes that the caller defined in a notebook or its main program

    found: bytes = cloudpickle.dumps(value)
    return found


def _pickled_error(error: Exception) -> bytes | None:
    try:
        found = _pickled(error)
        pickle.loads(found)
    except Exception:
        return None
    return found


def _text(error: Exception) -> str:
    """Return the traceback without this file's own frame."""
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


if __name__ == "__main__":
    call(Path(sys.argv[1]))
