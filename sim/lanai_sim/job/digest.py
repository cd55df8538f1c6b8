"""A number that is equal for runs that did the same at the same simulated time."""

import hashlib
import json

from .result import Result

BYTES = 6  # a number of JSON holds them exactly


def digest(result: Result) -> int:
    """Return a digest of when ranks began and ended, where their time went, how they ended, and how many slots each
    NIC lived through and what it counted."""
    summary = result.summary
    nics = [(nic.slots, nic.counts, nic.blocks) for nic in summary.nics]
    ranks = (summary.started, summary.ends, summary.spent, result.exits, summary.left)
    text = json.dumps([ranks, nics, result.code, result.ending], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:BYTES], "big")
