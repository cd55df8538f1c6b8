"""The report's sums as figures: dotted names with numbers."""

from collections.abc import Sequence

from ..trace import Trace
from .activity import GROUPS
from .bodies import Body
from .messages import MessageSum
from .ranks import RankSum, by_group


def figures(trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> dict[str, float]:
    """Microseconds for each rank and group; of the messages that are known from end to end the
    means, and where each body lay."""
    result: dict[str, float] = {
        "report.messages": len(trace.messages),
        "report.bytes": int(trace.messages["bytes"].sum()),
        "report.packets": len(trace.packets),
    }
    for rank in ranks:
        groups = by_group(rank.split)
        result[f"report.rank.{rank.rank}.total_us"] = rank.total / 1e6
        for group in GROUPS:
            result[f"report.rank.{rank.rank}.{group.replace(' ', '_')}_us"] = groups.get(group, 0) / 1e6
    if messages:
        result["report.message.mean_us"] = sum(message.total for message in messages) / len(messages) / 1e6
        for group in GROUPS[1:]:
            total = sum(by_group(message.split).get(group, 0) for message in messages)
            result[f"report.message.{group.replace(' ', '_')}_us"] = total / len(messages) / 1e6
    for message in messages:
        result |= _body(int(message.row["id"]), message.body)
    return result


def _body(number: int, body: Body) -> dict[str, int]:
    """Return the figures of one message, if a NIC moved its body to or from host memory."""
    if not body.sent.pages and not body.received.pages:
        return {}
    return {
        f"report.body.{number}.sent_pages": body.sent.pages,
        f"report.body.{number}.sent_pieces": body.sent.pieces,
        f"report.body.{number}.received_pages": body.received.pages,
        f"report.body.{number}.received_pieces": body.received.pieces,
        f"report.body.{number}.long_packets": body.long,
        f"report.body.{number}.cut_through": body.through,
        f"report.body.{number}.stored_for_pieces": body.stored_for_pieces,
    }
