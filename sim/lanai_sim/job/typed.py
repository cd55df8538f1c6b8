"""Messages whose sender and receiver have named different types, from what every rank knows of its own."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from lanai_host.simulator.protocol import SeenType

from ..signatures import fits, name_of

Types = Mapping[int, Sequence[SeenType] | None]
Channel = tuple[int, int, int, int]  # context, sender, receiver, tag


def differences(ranks: Types) -> list[str]:
    """Return a sentence for each channel on which a rank has received a type that nobody has sent there, by sender. A
    rank without types has not said which it sent."""
    sent: dict[Channel, list[str | None]] = defaultdict(list)
    received: list[tuple[int, int, int, int, str]] = []
    for rank, types in ranks.items():
        for one in types or ():
            if one.sent:
                sent[one.context, rank, one.peer, one.tag].append(one.kind)
            elif one.kind is not None:
                received.append((one.peer, rank, one.tag, one.context, one.kind))
    found = []
    for source, dest, tag, context, kind in sorted(received):
        kinds = [one for one in sent.get((context, source, dest, tag), ()) if _differ(one, kind)]
        if kinds and len(kinds) == len(sent[context, source, dest, tag]):
            named = name_of(min(filter(None, kinds)))
            text = f"rank {source} sends {named} to rank {dest} with tag {tag}, which receives it as {name_of(kind)}"
            found.append(text)
    return found


def _differ(sent: str | None, received: str) -> bool:
    """None is several types at once."""
    return sent is not None and fits([[sent, 1]], [[received, 1]]) is False
