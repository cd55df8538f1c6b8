"""Typical mistakes: one change of a lab's solution each, the case that shows it, and what is said of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """`old` of the solution's file is `new` instead. Case `case` fails, and its line holds `said`."""

    lab: str
    name: str
    old: str
    new: str
    case: str
    said: str


MISTAKES = [
    Mistake(
        "dma",
        "reads-the-word-in-the-slot-of-the-grant",
        "words.i.valid.eq(arriving)",
        "words.i.valid.eq(self.lbus.grant)",
        "one word",
        "word 0 is 0x5a000000, the word of address 0x0; expected 0x5a000100 of address 0x100",
    ),
    Mistake(
        "dma",
        "does-not-wait-for-the-grant",
        "with m.If(self.lbus.grant):",
        "with m.If(self.lbus.request):",
        "eight words",
        "expected 0x5a000104 of address 0x104",
    ),
    Mistake(
        "dma",
        "ignores-that-the-queue-is-full",
        "left & (words.free > arriving)",
        "left",
        "a slow link",
        "expected",
    ),
    Mistake(
        "dma",
        "takes-four-bytes-from-a-part-of-a-word",
        "Mux(piece.length < 4, 0, piece.length - 4)",
        "piece.length - 4",
        "part of a word",
        "beyond the last piece",
    ),
    Mistake(
        "lbus",
        "does-not-mask-the-others",
        "self.grant[name].eq(self.request[name] & ~taken)",
        "self.grant[name].eq(self.request[name])",
        "one at a time",
        "even slot, pio and hdma asked: pio and hdma have the slot; only one may",
    ),
    Mistake(
        "lbus",
        "swaps-the-edges",
        "with m.If(self.odd):",
        "with m.If(~self.odd):",
        "each on its edge",
        "even slot, send asked: send has the slot, but is served in odd slots",
    ),
    Mistake(
        "lbus",
        "serves-the-last-in-the-list-first",
        "for name in names:",
        "for name in reversed(names):",
        "priority",
        "even slot, pio and hdma asked: granted to hdma; pio goes first",
    ),
    Mistake(
        "lbus",
        "takes-the-list-of-the-nic-for-the-only-one",
        "*self.engines, self.processor = masters",
        "*self.engines, self.processor = MASTERS",
        "other masters",
        "even slot, pio asked: pio has the slot, but is served in odd slots",
    ),
    Mistake(
        "barrier",
        "keeps-a-flag-instead-of-a-count",
        "nic.heard[word] += 1",
        "if nic.inside:\n        nic.heard[word] = 1",
        "one is late",
        "barrier 1: all hosts have come, but NIC",
    ),
    Mistake(
        "barrier",
        "does-not-tell-rounds-apart",
        "nic.heard[word] += 1",
        "nic.heard[nic.round] += 1",
        "many barriers",
        "barrier 4: all hosts have come, but NIC 0, 2 of 4 do not pass it",
    ),
    Mistake(
        "barrier",
        "forgets-that-the-ring-closes-anywhere",
        "    if peer >= nic.count:\n        peer -= nic.count\n",
        "    peer &= 7\n",
        "two NICs",
        "barrier 1: all hosts have come, but NIC 0 of 2 does not pass it",
    ),
    Mistake(
        "barrier",
        "does-not-wait",
        "elif nic.heard[nic.round]:",
        "elif True:",
        "one is late",
        "NIC 3 passes barrier 1 26.3 us before the host of NIC 1 comes",
    ),
    Mistake(
        "matching",
        "forgets-the-last-entry",
        "        if lists.last_receive == node:\n            lists.last_receive = before\n",
        "",
        "first, middle and last leave",
        "operation 7, a message of source 1, tag 4, context 0: you found nothing, expected operation 5",
    ),
    Mistake(
        "matching",
        "puts-new-receives-first",
        "    if lists.receives:\n        lists.last_receive.next = receive\n    else:\n"
        "        lists.receives = receive\n",
        "    receive.next = lists.receives\n    lists.receives = receive\n",
        "the oldest goes first",
        "you found operation 2, a receive of source 1, tag 7, context 0, expected operation 0",
    ),
    Mistake(
        "matching",
        "takes-any-source-for-a-source",
        "        care |= 0xFF000000",
        "        pass\n    care |= 0xFF000000",
        "any source, any tag",
        "operation 3, a message of source 2, tag 7, context 0: you found operation 1",
    ),
    Mistake(
        "matching",
        "forgets-the-context",
        "care = u32(0x00FF0000)",
        "care = u32(0)",
        "source, tag, context must fit",
        "operation 3, a message of source 1, tag 7, context 1: you found operation 0",
    ),
    Mistake(
        "credits",
        "has-one-credit-too-many",
        "under_way < self.room",
        "under_way <= self.room",
        "more than the queue holds",
        "slot 6: 5 words are sent and 0 taken, but the receiver has room for 4",
    ),
    Mistake(
        "credits",
        "gives-credit-when-a-word-comes",
        "leaves = queue.o.valid & queue.o.ready",
        "leaves = queue.i.valid & queue.i.ready",
        "a slow user",
        "but the receiver has room for 16",
    ),
    Mistake(
        "credits",
        "tells-each-word-once",
        "self.back.kind.eq(Kind.DATA),\n            self.back.data.eq(left),",
        "self.back.kind.eq(Mux(leaves, Kind.DATA, Kind.IDLE)),\n            self.back.data.eq(left + 1),",
        "lost credits",
        "of 40 words have come",
    ),
    Mistake(
        "credits",
        "counts-what-is-sent-without-an-end",
        "sent, left, under_way = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal(COUNT_BITS)",
        "sent, left, under_way = Signal(32), Signal(COUNT_BITS), Signal(32)",
        "the count wraps around",
        "of 600 words have come",
    ),
    Mistake(
        "race",
        "takes-the-steps-of-any-worker",
        "source=status.source, tag=STEPS",
        "source=MPI.ANY_SOURCE, tag=STEPS",
        "other orders",
        "send messages that race for the receive of rank 0 at race.py:28",
    ),
    Mistake(
        "race",
        "takes-the-order-of-arrival-for-that-of-tasks",
        "values[task] = value",
        "values[len(values)] = value",
        "long and short tasks",
        "it printed 'checksum 2680, steps 34', expected 'checksum 2631, steps 34'",
    ),
    Mistake(
        "race",
        "sends-before-it-receives",
        "    return max(own, comm.sendrecv(own, dest=right, source=left))\n",
        "    comm.send(own, dest=right)\n    return max(own, comm.recv(source=left))\n",
        "sends find no buffer",
        "lanai check: the run goes on only if the library copies messages",
    ),
]
