"""The kit of `lanai compare`: programs of ours that measure what readers of the papers ask first."""

import dataclasses
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from ..ranks import numbers
from .measured import Measured

Programs = dict[str, tuple[tuple[str, ...], int]]  # by part: what each rank executes, and the number of ranks
RANKS = {"pair": 2, "one_sided": 2, "collectives": 8, "kernels": 4}  # by module of `programs`


def programs() -> Programs:
    """Return what each rank of each part executes, and the number of ranks."""
    folder = Path(str(files(__package__))) / "programs"
    return {part: (("python", str(folder / f"{part}.py")), ranks) for part, ranks in RANKS.items()}


def figures(parts: Mapping[str, Mapping[str, Measured]]) -> dict[str, dict[str, float]]:
    """Return by system what all parts printed."""
    systems = dict.fromkeys(name for found in parts.values() for name in found)
    return {name: {key: value for one in parts.values() for key, value in one[name].own.items()} for name in systems}


def answers(found: Mapping[str, Measured]) -> dict[str, Measured]:
    """Return what each system's ranks printed besides figures: this must not depend on the system."""
    return {
        name: dataclasses.replace(one, outputs=[_answer(text) for text in one.outputs]) for name, one in found.items()
    }


def _answer(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not numbers(line))
