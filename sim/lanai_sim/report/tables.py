"""The report as tables for a terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..trace import Trace
from ..units import counted
from . import rows
from .activity import GROUPS, WITHOUT_NICS
from .bodies import Body, Place
from .messages import MessageSum, protocol_name
from .ranks import RankSum, Split, by_group, merged


def microseconds(picoseconds: float) -> str:
    """12345678 -> '12.346'; what is nothing is a dot, so that a table's figures stand out."""
    return f"{picoseconds / 1e6:,.3f}" if picoseconds else "·"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "·"


def table(title: str, columns: Sequence[str], left: int = 1) -> Table:
    """A table of figures; the first `left` columns are words."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index < left else "right", no_wrap=index >= left)
    return made


def print_head(console: Console, trace: Trace, ranks: Sequence[RankSum]) -> None:
    """Print the command, the time that it took, and what the trace lacks."""
    command = " ".join(trace.meta.get("command", []))
    total = max((rank.end for rank in ranks), default=0) - trace.started
    console.print(
        Text.assemble((command, "bold"), f"  {counted(trace.ranks, 'rank')}, {counted(len(trace.nodes), 'NIC')}")
    )
    moved = int(trace.messages["bytes"].sum())
    console.print(
        f"{microseconds(total)} µs simulated, {counted(len(trace.messages), 'message')}, {counted(moved, 'byte')},"
        f" {counted(len(trace.packets), 'packet')}",
    )
    if report := trace.outcome.get("report", ""):
        console.print(Text(report), style="yellow")
    for line in trace.missing:
        console.print(f"the trace lacks {line}", style="yellow")


def groups_of(trace: Trace) -> Sequence[str]:
    """Return the groups that have a column in the tables below."""
    return GROUPS if trace.nodes else WITHOUT_NICS


def ranks_table(ranks: Sequence[RankSum], shown: Sequence[str] = GROUPS) -> Table:
    """A row for each rank; each row sums to its total."""
    made = table("Where the ranks' time went (µs)", ["rank", "total", *shown])
    for rank in ranks:
        groups = by_group(rank.split)
        made.add_row(str(rank.rank), microseconds(rank.total), *(microseconds(groups.get(name, 0)) for name in shown))
    return made


def calls_table(ranks: Sequence[RankSum], most: int, shown: Sequence[str] = GROUPS) -> Table:
    """MPI calls by name, all ranks together."""
    made = table("MPI calls, all ranks (µs)", ["call", "count", "total", "each", *shown[1:]])
    for name, count, split in rows.calls(ranks)[:most]:
        made.add_row(name, *_call_cells(count, split, shown))
    return made


def places_table(ranks: Sequence[RankSum], most: int, shown: Sequence[str] = GROUPS) -> Table:
    """MPI calls that took time, by the source line of the program that makes them, all ranks together."""
    made = table("MPI calls by source line, all ranks (µs)", ["call", "at", "count", "total", "each", *shown[1:]], 2)
    for name, place, count, split in rows.places(ranks)[:most]:
        if any(split.values()):
            made.add_row(name, place, *_call_cells(count, split, shown))
    return made


def _call_cells(count: int, split: Split, shown: Sequence[str]) -> list[str]:
    total, by = sum(split.values()), by_group(split)
    times = [total, total / max(count, 1), *(by.get(group, 0) for group in shown[1:])]
    return [str(count), *map(microseconds, times)]


def messages_table(messages: Iterable[MessageSum], most: int, shown: Sequence[str] = GROUPS) -> Table:
    """Messages of the same size and protocol together: the mean of each part."""
    groups = shown[1:]
    made = table(
        "Messages, from send call to data received (mean, µs)", ["bytes", "protocol", "count", "mean", *groups], 2
    )
    for size, protocol, members in sorted(rows.sizes(messages)[:most], key=lambda row: row[:2]):
        by = by_group(merged([message.split for message in members]))
        cells = (microseconds(by.get(group, 0) / len(members)) for group in groups)
        mean = sum(message.total for message in members) / len(members)
        made.add_row(f"{size:,}", protocol, str(len(members)), microseconds(mean), *cells)
    return made


def bodies_table(messages: Iterable[MessageSum], most: int) -> Table:
    """Messages of the same size, protocol and place of their bodies together; the sizes that took
    most time in all."""
    made = table(
        "The messages' bodies in host memory, and their packets cut through at the receiver",
        ["bytes", "protocol", "count", "mean µs", "from pages", "pieces", "to pages", "pieces", "packets",
         "cut through",
         "stored for pieces"], 2,
    )  # fmt: skip
    kinds: dict[tuple[int, str, tuple[int, ...]], list[MessageSum]] = {}
    for message in messages:
        sent, received = message.body.sent, message.body.received
        if sent.pages or received.pages:
            key = sent.pages, sent.pieces, received.pages, received.pieces
            kinds.setdefault((int(message.row["bytes"]), protocol_name(message.row), key), []).append(message)
    by_weight = sorted(kinds.items(), key=lambda item: -sum(message.total for message in item[1]))
    for (size, protocol, places), members in sorted(by_weight[:most]):
        bodies = [message.body for message in members]
        packets = (
            sum(body.long for body in bodies),
            sum(body.through for body in bodies),
            sum(body.stored_for_pieces for body in bodies),
        )
        mean = sum(message.total for message in members) / len(members)
        cells = (f"{number:,}" if number else "·" for number in (*places, *packets))
        made.add_row(f"{size:,}", protocol, str(len(members)), microseconds(mean), *cells)
    return made


def firmware_table(messages: Sequence[MessageSum], most: int) -> Table:
    """Firmware on the messages' way, by what the activity was booked by: functions or lines."""
    columns = ["firmware", "worked", "stalled", "share of the messages' time"]
    made = table("Firmware on the messages' way (mean of all messages, µs)", columns)
    total = sum(message.total for message in messages)
    for name, work, stall in rows.firmware(messages)[:most]:
        count = len(messages)
        made.add_row(name, microseconds(work / count), microseconds(stall / count), percent(work + stall, total))
    return made


def blocks_table(found: Sequence[rows.BlockRow]) -> Table:
    """Events and counters of the NICs' optional blocks."""
    made = table("The NICs' optional blocks (µs since the ranks began)",
                 ["block", "event or counter", "NIC", "times", "first", "last"], 2)  # fmt: skip
    for block, name, node, times, first, last in found:
        made.add_row(block, name, str(node), f"{times:,}", microseconds(first), microseconds(last))
    return made


def message_table(message: MessageSum) -> Table:
    """One message, moment by moment."""
    row = message.row
    made = table(
        f"Message {row['id']}: {counted(row['bytes'], 'byte')} from rank {row['source']} to {row['target']},"
        f" tag {row['tag']}, {protocol_name(row)} ({microseconds(message.total)} µs)",
        ["what", "which", "from", "for"],
        2,
    )
    for part, begin, end in message.pieces:
        made.add_row(part.group, part.detail, microseconds(begin - message.begin), microseconds(end - begin))
    return made


def body_line(body: Body) -> str:
    """Return where one message's body lay, and what became of its packets at the receiver."""
    if not body.sent.pages and not body.received.pages:
        return "no DMA moved its body"
    sent = _place(body.sent) if body.sent.pages else "written to the NIC with the request"
    line = f"its body: at the sender {sent}; at the receiver {_place(body.received)}"
    if body.long:
        line += f"; {body.through} of {counted(body.long, 'long packet')} cut through"
    if body.stored_for_pieces:
        line += f", {body.stored_for_pieces} stored because of too many pieces"
    return line


def _place(place: Place) -> str:
    return f"{counted(place.pages, 'page')} in {counted(place.pieces, 'piece')}"
