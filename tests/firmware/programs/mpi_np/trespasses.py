"""Requests of a hostile rank, one attempt for each check that must refuse it (NP-14, NP-28)."""

from . import trespasses_of_receives, trespasses_on_others
from .trespass_scene import ATTEMPTS

__all__ = [
    "ATTEMPTS",
    "trespasses_of_receives",
    "trespasses_on_others",
]
