"""Warnings of ranks, for the summary of the session that started them."""

import importlib
import warnings
from collections.abc import Sequence
from typing import Any

import pytest


def packed(message: warnings.WarningMessage, location: Any) -> dict[str, Any]:
    """A warning in JSON's types."""
    return {
        "text": str(message.message), "module": message.category.__module__, "name": message.category.__qualname__,
        "file": message.filename, "line": message.lineno, "location": location,
    }  # fmt: skip


def repeat(item: pytest.Item, found: Sequence[dict[str, Any]]) -> None:
    """Tell the session of warnings, of those that several ranks gave once."""
    for said in {str(one): one for one in found}.values():
        message = warnings.WarningMessage(_made(said), type(_made(said)), said["file"], said["line"])
        location = said["location"]
        item.ihook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": message, "when": "runtest", "nodeid": item.nodeid,
                "location": None if location is None else tuple(location),
            }
        )  # fmt: skip


def _made(said: dict[str, Any]) -> Warning:
    """The warning again; a plain one where its class cannot be made from its text."""
    try:
        kind = getattr(importlib.import_module(said["module"]), said["name"])
        made = kind(said["text"])
        return made if isinstance(made, Warning) else UserWarning(said["text"])
    except Exception:
        return UserWarning(said["text"])
