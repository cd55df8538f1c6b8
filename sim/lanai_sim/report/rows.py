"""The report's tables as rows: for a terminal, and for JSON with all their figures."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..trace import Trace
from .activity import GROUPS, PROCESSOR, STALL
from .bodies import Body
from .messages import MessageSum, protocol_name
from .ranks import RankSum, Split, by_group, merged

CallRow = tuple[str, int, Split]  # name, count, time
PlaceRow = tuple[str, str, int, Split]  # name, place, count, time
SizeRow = tuple[int, str, list[MessageSum]]  # bytes, protocol, messages
BlockRow = tuple[str, str, int, int, int, int]  # block, signal, NIC, slots, picoseconds of the first and last
FirmwareRow = tuple[str, int, int]  # function or line, picoseconds at work and stalled


def calls(ranks: Sequence[RankSum]) -> list[CallRow]:
    """MPI calls by name, all ranks together; those that took most time come first."""
    sums: dict[str, tuple[int, list[Split]]] = {}
    for name, _, count, split in _calls(ranks):
        before, splits = sums.get(name, (0, []))
        sums[name] = (before + count, [*splits, split])
    found = [(name, count, merged(splits)) for name, (count, splits) in sums.items()]
    return sorted(found, key=lambda row: -sum(row[2].values()))


def places(ranks: Sequence[RankSum]) -> list[PlaceRow]:
    """MPI calls by name and by where the program makes them, if that is known; those that took most time first."""
    return sorted((row for row in _calls(ranks) if row[1]), key=lambda row: -sum(row[3].values()))


def _calls(ranks: Sequence[RankSum]) -> list[PlaceRow]:
    """MPI calls by name and place, all ranks together."""
    sums: dict[tuple[str, str], tuple[int, list[Split]]] = {}
    for rank in ranks:
        for call in rank.calls:
            count, splits = sums.get((call.name, call.place), (0, []))
            sums[call.name, call.place] = (count + call.count, [*splits, call.split])
    return [(name, place, count, merged(splits)) for (name, place), (count, splits) in sums.items()]


def sizes(messages: Iterable[MessageSum]) -> list[SizeRow]:
    """Messages of the same size and protocol together; those that took most time come first."""
    kinds: dict[tuple[int, str], list[MessageSum]] = {}
    for message in messages:
        kinds.setdefault((int(message.row["bytes"]), protocol_name(message.row)), []).append(message)
    found = [(size, protocol, members) for (size, protocol), members in kinds.items()]
    return sorted(found, key=lambda row: -sum(message.total for message in row[2]))


def firmware(messages: Sequence[MessageSum]) -> list[FirmwareRow]:
    """Firmware on the messages' way, by what the activity was booked by: functions or lines."""
    sums: dict[str, list[int]] = {}
    for part, time in merged([message.split for message in messages]).items():
        if part.group in (PROCESSOR, STALL):
            sums.setdefault(part.detail, [0, 0])[part.group == STALL] += time
    found = [(name, work, stall) for name, (work, stall) in sums.items()]
    return sorted(found, key=lambda row: (-row[1] - row[2], row[0]))


def blocks(trace: Trace) -> list[BlockRow]:
    """Return a row for each event and counter of the NICs' optional blocks since the ranks began."""
    rows, found = trace.blocks[trace.picoseconds(trace.blocks["slot"]) >= trace.started], []
    for signal, (block, name, _) in enumerate(trace.block_signals):
        mine = rows[rows["signal"] == signal]
        for node in range(len(trace.nodes)):
            times = trace.picoseconds(mine["slot"][mine["node"] == node]) - trace.started
            if len(times):
                found.append((block, name, node, len(times), int(times[0]), int(times[-1])))
    return found


def tables(
    ranks: Sequence[RankSum], messages: Sequence[MessageSum], blocks: Sequence[BlockRow] = ()
) -> dict[str, list[dict[str, Any]]]:
    """All rows for JSON, in microseconds. Times of messages and their firmware are means."""
    return {
        "ranks": [{"rank": rank.rank, "total_us": rank.total / 1e6, **_groups(rank.split)} for rank in ranks],
        "calls": [
            {"call": name, "count": count, "total_us": sum(split.values()) / 1e6, **_groups(split)}
            for name, count, split in calls(ranks)
        ],
        "places": [
            {"call": name, "place": place, "count": count, "total_us": sum(split.values()) / 1e6, **_groups(split)}
            for name, place, count, split in places(ranks)
        ],
        "messages": [
            {
                "bytes": size, "protocol": protocol, "count": len(members),
                "mean_us": sum(message.total for message in members) / len(members) / 1e6,
                **_groups(merged([message.split for message in members]), len(members)),
            }
            for size, protocol, members in sizes(messages)
        ],
        "firmware": [
            {"firmware": name, "worked_us": work / len(messages) / 1e6, "stalled_us": stall / len(messages) / 1e6}
            for name, work, stall in firmware(messages)
        ],
        "blocks": [
            {
                "block": block, "signal": name, "nic": node, "times": times,
                "first_us": first / 1e6, "last_us": last / 1e6,
            }
            for block, name, node, times, first, last in blocks
        ],
    }  # fmt: skip


def _groups(split: Split, count: int = 1) -> dict[str, float]:
    groups = by_group(split)
    return {f"{group.replace(' ', '_')}_us": groups.get(group, 0) / count / 1e6 for group in GROUPS}


# The report's sums as figures: dotted names with numbers.


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
