"""Rules on messages: sender and receiver agree, each message is received, ready sends find their
receives.

Which send a receive has matched follows from MPI's order: of the messages with one source, tag and
communicator, receives take the first in the order in which they were posted.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from lanai_host.mpi.constants import ANY_SOURCE, ANY_TAG

from ..signatures import fits, words
from .collectives import Entry, Line
from .finding import Finding, Kind, at, finding
from .records import Call, Node, Order, Rank, Record

_METHODS = frozenset(  # of mpi4py: an object in lower case, a buffer in upper case
    {
        "send", "isend", "bsend", "ibsend", "ssend", "issend", "rsend", "irsend", "sendrecv", "recv", "irecv", "mrecv",
        "imrecv", "mprobe", "improbe",
    }
)  # fmt: skip
Channel = tuple[str, int, int, int]  # communicator, source, destination, tag


class Pair(NamedTuple):
    """A message: who sent it and who received it. `done`: the call in which the receive was complete for
    its program; None if it was not."""

    send: Record
    sender: Call
    receive: Record
    receiver: Call
    done: int | None
    sent: int | None  # the call in which the send was complete


class Messages:
    """The pairs, and the sends that no receive has taken."""

    def __init__(self, ranks: Sequence[Rank]) -> None:
        self.pairs: list[Pair] = []
        self.left: list[tuple[Record, Call]] = []
        self.next: list[tuple[Record, Call]] = []  # the first of each channel that no receive has got
        sends: dict[Channel, list[tuple[Record, Call]]] = defaultdict(list)
        receives: dict[Channel, list[tuple[Record, Call]]] = defaultdict(list)
        open_: dict[int, list[tuple[Record, Call]]] = defaultdict(list)  # by rank: receives without a match
        unsure: set[tuple[str, int]] = set()
        done: dict[tuple[int, int], int] = {}
        for rank in ranks:
            matches = {record["id"]: record for record in rank.of("match")}
            typed = {record["of"]: record["sig"] for record in rank.of("typed")}
            done |= {(rank.rank, record["id"]): record["n"] for record in rank.of("done")}
            unsure |= {(record["comm"], rank.rank) for record in rank.of("unsure")}
            for record in rank.made("send", "recv"):
                match = matches.get(record["id"])
                call = rank.call(record)
                if record["k"] == "send" and record["to"] >= 0 and not (match and match.get("cancelled")):
                    sends[record["comm"], rank.rank, record["to"], record["tag"]].append((record, call))
                elif record["k"] == "recv" and match is not None and "from" in match:
                    sig = record.get("sig", typed.get(record["id"]))
                    record = {**record, "sig": sig, "bytes": match.get("bytes")}
                    receives[record["comm"], match["from"], rank.rank, match["tag"]].append((record, call))
                elif record["k"] == "recv" and match is None and (rank.rank, record["id"]) not in done:
                    open_[rank.rank].append((record, call))
        for channel, made in sends.items():
            comm, source, dest, _ = channel
            if (comm, source) in unsure or (comm, dest) in unsure:
                continue
            taken = receives[channel]
            for (send, sender), (receive, receiver) in zip(made, taken, strict=False):
                ended = done.get((dest, receive["id"]), None if _begins(receiver) else receiver.number)
                sent = done.get((source, send["id"]), None if _begins(sender) else sender.number)
                self.pairs.append(Pair(send, sender, receive, receiver, ended, sent))
            for send, sender in made[len(taken) :]:
                taker = next((one for one in open_[dest] if takes(one[0], send, source)), None)
                if taker is None:
                    self.left.append((send, sender))
                else:  # it has come there, and the program has not asked
                    open_[dest].remove(taker)
        self.next = [made[len(receives[channel])] for channel, made in sends.items() if made[len(receives[channel]) :]]


def takes(receive: Record, send: Record, source: int) -> bool:
    """Return if a receive may take what a rank sends to its rank."""
    return (
        receive["comm"] == send["comm"]
        and receive["want"] in (source, ANY_SOURCE)
        and receive["tag"] in (send["tag"], ANY_TAG)
    )


def _pickles(call: Call) -> bool | None:
    """Return if Python's call sends or receives an object, and not a buffer; None if it is neither."""
    method = call.python.rpartition(".")[2]
    return method.islower() if method.casefold() in _METHODS else None


def mixed(messages: Messages, ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Objects of Python that are received as a buffer, or buffers as objects, where that has failed."""
    for rank in ranks:
        failed = {record["n"] for record in rank.of("error")}
        for record in rank.of("recv"):
            call = rank.call(record)
            if record["n"] in failed:
                for send, sender in messages.next:
                    if send["to"] == rank.rank and takes(record, send, sender.rank) and _differ(sender, call):
                        yield _mixed(sender, call)
                        break


def _differ(sender: Call, receiver: Call) -> bool:
    return {_pickles(sender), _pickles(receiver)} == {True, False}


def _mixed(sender: Call, receiver: Call) -> Finding:
    what = {True: "a pickled object", False: "a buffer"}
    text = (
        f"rank {sender.rank} sends {what[bool(_pickles(sender))]} by {at(sender.name, sender.line)}, and rank "
        f"{receiver.rank} receives {what[bool(_pickles(receiver))]} by {at(receiver.name, receiver.line)}"
    )
    hint = "use send and recv in lower case on both sides for objects, or Send and Recv in upper case for buffers"
    return finding(Kind.DATATYPE, [sender.side, receiver.side], text, hint)


def _begins(call: Call) -> bool:
    """The call only begins an operation."""
    return call.name.startswith(("MPI_I", "MPI_Start"))


def mismatches(messages: Messages) -> Iterator[Finding]:
    """Sender and receiver name different types."""
    for pair in messages.pairs:
        received = pair.receive.get("sig")
        if received is None:
            continue
        fit = fits(pair.send["sig"], received)
        if fit is False and _differ(pair.sender, pair.receiver):
            yield _mixed(pair.sender, pair.receiver)
        elif fit is False:
            text = (
                f"rank {pair.sender.rank} sends {words(pair.send['sig'])} in {at(pair.sender.name, pair.sender.line)}, "
                f"and rank {pair.receiver.rank} receives {words(received)} in "
                f"{at(pair.receiver.name, pair.receiver.line)}"
            )
            yield finding(
                Kind.DATATYPE, [pair.sender.side, pair.receiver.side], text, "name the same basic types on both sides"
            )


def not_received(messages: Messages) -> Iterator[Finding]:
    """Messages that nobody has received though the run has ended well."""
    for send, call in messages.left:
        text = (
            f"rank {send['to']} never receives the message with tag {send['tag']} that rank {call.rank} sends in "
            f"{at(call.name, call.line)}"
        )
        yield finding(Kind.NOT_RECEIVED, [call.side], text, "receive each message before MPI_Finalize, or cancel it")


def ready(messages: Messages, order: Order) -> Iterator[Finding]:
    """Ready sends whose receive need not have been posted."""
    for pair in messages.pairs:
        if pair.send["mode"] == "r" and not order.begun(pair.receiver, pair.sender):
            text = (
                f"nothing orders the ready send of rank {pair.sender.rank} in {at(pair.sender.name, pair.sender.line)} "
                f"after the receive of rank {pair.receiver.rank} in {at(pair.receiver.name, pair.receiver.line)}"
            )
            hint = "post the receive, tell the sender by a message or a barrier, then send; or use a standard send"
            yield finding(Kind.READY, [pair.sender.side, pair.receiver.side], text, hint)


# The edges of `Order`: which call ends only when others have begun.


_FROM_ROOT = ("bcast", "scatter", "scatterv")
_TO_ROOT = ("reduce", "gather", "gatherv")
_ONE_WAY = ("scan", "exscan")
Edge = tuple[Node, Node]


def of_messages(pairs: Sequence[Pair]) -> Iterator[Edge]:
    for pair in pairs:
        sender, receiver = pair.sender, pair.receiver
        if pair.done is not None:
            yield (sender.rank, sender.number), (receiver.rank, pair.done)
        if pair.send["mode"] == "y" and pair.sent is not None:
            yield (receiver.rank, receiver.number), (sender.rank, pair.sent)


def of_collectives(lines: Sequence[Line], ranks: Sequence[Rank]) -> Iterator[Edge]:
    ended = _ended(ranks)
    for line in lines:
        for entries in line.rounds():
            if len({entry.name for entry in entries}) == 1:
                yield from _round(line, entries, ended)


def _ended(ranks: Sequence[Rank]) -> dict[Node, int]:
    """Return, by the call that began an operation, the call in which it was complete."""
    found: dict[Node, int] = {}
    for rank in ranks:
        began = {record["id"]: record["n"] for record in rank.of("begins", "send", "recv")}
        for record in rank.of("done"):
            if record["id"] in began:
                found[rank.rank, began[record["id"]]] = record["n"]
    return found


def _round(line: Line, entries: list[Entry], ended: dict[Node, int]) -> Iterator[Edge]:
    name = entries[0].name.removeprefix("MPI_").lower().removesuffix("_init")
    name = name[1:] if name.startswith("i") and "intercomm" not in name else name
    place = {rank: index for index, rank in enumerate(line.members or ())}
    root = entries[0].record.get("root")
    for target in entries:
        number = target.call.number
        end = ended.get((target.rank, number), number)
        for source in entries:
            if source is target or not _waits(name, place.get(target.rank), place.get(source.rank), root):
                continue
            yield (source.rank, source.call.number), (target.rank, end)


def _waits(name: str, target: int | None, source: int | None, root: int | None) -> bool:
    """Does `target` end only when `source` has begun?"""
    if name in _FROM_ROOT:
        return source == root
    if name in _TO_ROOT:
        return target == root
    if name in _ONE_WAY and source is not None and target is not None:
        return source < target
    return True


class Log:
    """Calls by what they are about and by rank, in the order of the machine's clock."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, dict[int, list[tuple[int, Node]]]] = defaultdict(lambda: defaultdict(list))

    def add(self, key: Hashable, begin: int, node: Node) -> None:
        self._calls[key][node[0]].append((begin, node))

    def last(self, key: Hashable, before: int, but: int) -> Iterator[Node]:
        """Give each other rank's last call that had begun by then. It knows all that its earlier ones knew."""
        for rank, calls in self._calls[key].items():
            place = bisect_left(calls, (before,))
            if rank != but and place:
                yield calls[place - 1][1]


def of_windows(ranks: Sequence[Rank]) -> Iterator[Edge]:
    """MPI_Win_wait ends when the origins have called MPI_Win_complete; a lock is had when those before it
    were given back, of which one excludes the other."""
    completes, unlocks = Log(), Log()
    waits: list[tuple[str, Node, int]] = []
    takes: list[tuple[tuple[str, int], Node, bool, int]] = []
    for rank in ranks:
        groups: dict[str, list[int]] = {}
        held: dict[tuple[str, int], bool] = {}
        for record in rank.of("sync"):
            node, win, what = (rank.rank, record["n"]), record["win"], record["what"]
            begin, end = rank.calls[record["n"]].begin, rank.calls[record["n"]].end
            if what == "start":
                groups[win] = record.get("of", [])
            elif what == "complete":
                for target in groups.get(win, ()):
                    completes.add((win, target), begin, node)
            elif what in ("wait", "test"):
                waits.append((win, node, end or 0))
            elif what in ("lock", "unlock", "flush") and record.get("rank") is not None and record["rank"] >= 0:
                lock = (win, record["of"][record["rank"]])
                if what == "lock":
                    held[lock] = bool(record.get("exclusive"))
                if end is not None:
                    takes.append((lock, node, held.get(lock, False), end))
                if what == "unlock" and end is not None:
                    unlocks.add((lock, held.pop(lock, False)), begin, node)
    for win, node, end in waits:
        for source in completes.last((win, node[0]), end, node[0]):
            yield source, node
    for lock, node, exclusive, end in takes:
        for excludes in (True, False) if exclusive else (True,):
            for source in unlocks.last((lock, excludes), end, node[0]):
                yield source, node


def of_atomics(ranks: Sequence[Rank]) -> Iterator[Edge]:
    """A rank that fetches what others change atomically may wait for their values. It has one where its own
    synchronization ends next."""
    changes = Log()
    fetches: list[tuple[Hashable, Node, int]] = []
    for rank in ranks:
        waiting: list[tuple[str, int, int]] = []
        for record in rank.of("rma", "sync"):
            call = rank.calls[record["n"]]
            if record["k"] == "sync" and call.end is not None:
                fetches += [(key, (rank.rank, record["n"]), call.end) for key in waiting if key[0] == record["win"]]
                waiting = [key for key in waiting if key[0] != record["win"]]
            elif record["k"] == "rma" and record["does"] in ("acc", "gacc", "cas") and record["at"]:
                key = (record["win"], record["target"], record["at"][0][0])
                if record["does"] != "acc":
                    waiting.append(key)
                if record.get("op") != "MPI_NO_OP":
                    changes.add(key, call.begin, (rank.rank, record["n"]))
    for wanted, node, end in fetches:
        for source in changes.last(wanted, end, node[0]):
            yield source, node
