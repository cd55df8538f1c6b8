"""Counts of 16 bits in headers of channels: numbers of packets, by which those that are sent again are known, and
message slots that are taken and given back."""

from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Credit

from .schema import Fault

HALF = 1 << 15  # a difference from here on is negative
COUNTS = 2 * HALF


def firsts(packets: Any, numbers: Any, numbered: Any) -> Any:
    """Return the row of the first packet of its pair with the same number, for each packet. They are in the order in
    which they left. One that is not `numbered` is the first."""
    found = np.arange(len(packets))
    rows: dict[tuple[int, int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(numbered).tolist():
        pair, number = (int(packets["from_rank"][row]), int(packets["to_rank"][row])), int(numbers[row])
        if (number - last.get(pair, number - 1) - 1) % COUNTS < HALF:
            last[pair] = number
            rows[*pair, number] = row
        found[row] = rows.get((*pair, number), row)
    return found


def slots(credit: Credit, packets: Any, words: Any, again: Any) -> None:
    """Fill in `paid` and `given` of packets. `words`: the member of each header. `again`: those that were sent
    before."""
    known = (packets["to_rank"] >= 0) & (packets["fault"] != Fault.EXTRA)
    known &= ~np.isin(packets["kind"], sorted(credit.silent))
    packets["paid"] = known & np.isin(packets["kind"], sorted(credit.pays)) & (packets["head"] >= 0) & ~again
    came = np.flatnonzero(known & (packets["arrival_head"] >= 0) & (packets["fault"] != Fault.DAMAGED))
    told: dict[tuple[int, int], int] = {}
    for row in came[np.argsort(packets["arrival_head"][came], kind="stable")].tolist():
        packet, given = packets[row], int(words[row])
        if credit.running:
            pair = int(packet["from_rank"]), int(packet["to_rank"])
            now = given >> 16
            given = (now - told.get(pair, 0)) % COUNTS
            if given < HALF:
                told[pair] = now
            else:  # the header of a packet that was sent again
                given = 0
        packet["given"] = given + (int(packet["kind"]) in credit.returns and not again[row])
