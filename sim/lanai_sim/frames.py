"""Tables as frames of pandas or polars, whichever is installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

from lanai_hdl.errors import UserError, unknown

Library = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = get_args(Library)


def frame(columns: Mapping[str, Any], library: Library | None = None) -> Any:
    """Return columns, which are sequences of one length, as a frame.

    Args:
        library: which; None: pandas if it is installed, else polars.
    """
    return _library(library).DataFrame(dict(columns))


def of_rows(rows: Sequence[Mapping[str, Any]], library: Library | None = None) -> Any:
    """Return rows, which have the same names each, as a frame."""
    names = list(rows[0]) if rows else []
    return frame({name: [row[name] for row in rows] for name in names}, library)


def _library(name: Library | None) -> Any:
    """Return the module. Raises UserError if it is not known or not installed."""
    if name is not None and name not in LIBRARIES:
        raise unknown("library", name, LIBRARIES)
    installed = next((one for one in LIBRARIES if _found(one)), LIBRARIES[0])
    try:
        return import_module(name or installed)
    except ImportError as error:
        what = name or " or ".join(LIBRARIES)
        extra = "openlanai[frames]" if name in (None, "pandas") else name
        raise UserError(f"frames need {what} ({error}); pip install '{extra}'") from error


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module without a spec, as tests make them
        return False
