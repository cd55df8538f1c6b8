"""The signals of optional blocks that a traced run records: their events and what they count."""

from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Counter, EventBit
from lanai_hdl.errors import UserError

MOST = 64  # bits of the probe

BlockSignal = tuple[str, EventBit | Counter]  # the block's name, and one of its signals


def meaning(signal: EventBit | Counter) -> str:
    """Return what it means that the event happens, or what is counted."""
    return signal.doc if isinstance(signal, EventBit) else signal.counts


def block_signals(config: NicConfig) -> list[BlockSignal]:
    """Return the events and counters of all optional blocks, in the order of the probe's bits."""
    found: list[BlockSignal] = []
    for block in config.blocks:
        found += [(block.name, one) for one in (*block.all_declared.events, *block.all_declared.counters)]
    if len(found) > MOST:
        raise UserError(f"--trace shows {MOST} events and counters of optional blocks; these NICs have {len(found)}")
    return found
