"""Rules on messages: sender and receiver agree, each message is received, ready sends find their
receives.

Which send a receive has matched follows from MPI's order: of the messages with one source, tag and
communicator, receives take the first in the order in which they were posted.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lanai_host.mpi.constants import ANY_SOURCE, ANY_TAG

from ..signatures import fits, words
from .finding import Finding, Kind, at, finding
from .order import Order
from .records import Call, Rank, Record

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
