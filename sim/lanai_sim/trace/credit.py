"""The message slots that packets of channels take at their receivers, and that they give back."""

from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Credit

from .schema import Fault

HALF = 1 << 15  # of the counts of 16 bits: a difference from here on is negative
COUNTS = 2 * HALF


def count(credit: Credit, packets: Any, words: Any, again: Any) -> None:
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
