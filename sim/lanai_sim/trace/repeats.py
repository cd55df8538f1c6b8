"""Packets that are sent again, with the number of the first time."""

from typing import Any

import numpy as np

HALF = 1 << 15  # a difference of numbers from here on is negative
NUMBERS = 2 * HALF


def firsts(packets: Any, numbers: Any, numbered: Any) -> Any:
    """Return the row of the first packet of its pair with the same number, for each packet. They are in the order in
    which they left. One that is not `numbered` is the first."""
    found = np.arange(len(packets))
    rows: dict[tuple[int, int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(numbered).tolist():
        pair, number = (int(packets["from_rank"][row]), int(packets["to_rank"][row])), int(numbers[row])
        if (number - last.get(pair, number - 1) - 1) % NUMBERS < HALF:
            last[pair] = number
            rows[*pair, number] = row
        found[row] = rows.get((*pair, number), row)
    return found
