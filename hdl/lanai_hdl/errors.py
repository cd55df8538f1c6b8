"""Errors that a user can mend. The lowest room owns them so that every room can raise them."""

from collections.abc import Iterable
from difflib import get_close_matches


class LanaiError(Exception):
    """The base of all errors that this project raises for its users."""


class UserError(LanaiError):
    """Bad input. The text quotes the bad value and says what would be right.

    The `lanai` command prints it and exits with 2.
    """


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the question that names the nearest of the known names, to be put before the list of all;
    nothing if none is near."""
    spelled = {one.lower(): one for one in known}
    near = get_close_matches(str(name).lower(), spelled, 1)
    return f"did you mean {spelled[near[0]]!r}? " if near else ""


def unknown(what: str, name: object, known: Iterable[str]) -> UserError:
    """Return the error for a name that is not among the known ones."""
    known = list(known)
    return UserError(f"{what} {name!r} is not known; {did_you_mean(name, known)}choose one of {', '.join(known)}")
