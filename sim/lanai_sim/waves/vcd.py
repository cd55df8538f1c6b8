"""Reads back the waveforms that an engine writes: chosen signals as arrays, one value a slot."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanai_host.errors import UserError

ADDED = re.compile(r"\$\d+(?=\.|$)")
Samples = dict[str, NDArray[np.uint64]]


def sample(path: Path, names: Sequence[str]) -> tuple[NDArray[np.uint64], Samples]:
    """The times in the file, and for each name its values after each of them.

    A name is the scopes and the signal joined by dots, such as
    "TOP.lanai_nic.nic.processor.retire.pc". Numbers that Amaranth adds to make equal names differ
    ("doorbell$547") change with every edit of the gateware and may be left out. At most 64 bits
    each.
    """
    try:
        with open(path) as file:
            codes = _declared(file, names, path)
            rows = list(_rows(file, codes, len(names)))
    except OSError as error:
        raise UserError(f"cannot read the waveform {str(path)!r}: {error.strerror}") from error
    if not rows:
        raise UserError(f"the waveform {str(path)!r} holds no time; widen its window")
    table = np.array(rows, np.uint64)
    return table[:, 0], {name: table[:, 1 + column] for column, name in enumerate(names)}


def _declared(lines: Iterable[str], names: Sequence[str], path: Path) -> dict[str, list[int]]:
    """Identifier code to the columns it fills, from the header."""
    wanted = {name: column for column, name in enumerate(names)}
    codes: dict[str, list[int]] = {}
    scopes: list[str] = []
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scopes.append(words[2])
        elif words[0] == "$upscope":
            scopes.pop()
        elif words[0] == "$var":
            name = ".".join([*scopes, words[4]])
            column = wanted.pop(name if name in wanted else ADDED.sub("", name), None)
            if column is not None:
                codes.setdefault(words[3], []).append(column)
        elif words[0] == "$enddefinitions":
            break
    if wanted:
        raise UserError(f"the waveform {str(path)!r} has no signal {sorted(wanted)[0]!r}")
    return codes


def _rows(lines: Iterable[str], codes: dict[str, list[int]], width: int) -> Iterator[list[int]]:
    """A row each time: the time and all values."""
    row = [0] * (1 + width)
    begun = False
    for line in lines:
        first = line[0]
        if first == "#":
            if begun:
                yield row[:]
            row[0] = int(line[1:])
            begun = True
            continue
        if first in "bB":
            text, code = line[1:].split()
        else:
            text, code = first, line[1:].rstrip()
        columns = codes.get(code)
        if columns is not None:
            value = int(text, 2) if text.strip("01") == "" else 0  # undriven counts as 0
            for column in columns:
                row[1 + column] = value
    if begun:
        yield row
