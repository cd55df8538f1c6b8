"""Messages and receives that are matched: the oldest that fits, in one step, against Python's lists."""

import random
import sys
from pathlib import Path

import pytest
from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from pairs import first_of

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.match import (
    HANDLE_BITS,
    OWNER_BITS,
    Answer,
    Entry,
    Match,
    MatchList,
    MatchOp,
    Outcome,
    Question,
    asks_receives,
    fits,
    joins,
    joins_receives,
    looks,
)

from .match_lists import Lists, question, random_questions

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run

ARRIVE, POST, PROBE, TAKE, CANCEL, SEEK, DROP_RECEIVE, DROP_MESSAGE = MatchOp
FOUND, JOINED, NONE, FULL = Outcome
ANSWER = 3  # slots from a question to its answer


def ask(dut, questions, idle=0.0, seed=0):
    """Ask one question after the other. Return the answers, outcome and handle, and in which slots they stood."""
    chance, answers, slots = random.Random(seed), [], []

    async def script(context):
        for asked in questions:
            while chance.random() < idle:
                await context.tick()
            context.set(dut.i.payload, asked)
            context.set(dut.i.valid, 1)
            ready, waited = 0, 0
            while not ready:
                _, _, ready = await context.tick().sample(dut.i.ready)
                waited += 1
            context.set(dut.i.valid, 0)
            valid, passed = 0, 0
            while not valid:
                _, _, valid, answer = await context.tick().sample(dut.o.valid, dut.o.payload)
                passed += 1
            outcome = Outcome(answer.outcome)
            answers.append((outcome, answer.handle if outcome == FOUND else None))
            slots.append((waited, passed))

    bench = Bench(dut, 40 * len(questions) + 100)
    bench.add(script)
    bench.run()
    return answers, slots


def test_a_question_takes_four_slots_whatever_becomes_of_it():
    dut = Match(4)
    asked = [question(POST, 1, tag=7), question(ARRIVE, 2, tag=8), question(ARRIVE, 3, tag=7), question(PROBE, tag=7)]
    answers, slots = ask(dut, asked)
    assert [outcome for outcome, _ in answers] == [JOINED, JOINED, FOUND, NONE]
    assert slots == [(1, ANSWER)] * 4


def test_the_oldest_that_fits_is_taken_and_order_stays():
    posts = [question(POST, handle, source=4, tag=1, any_tag=handle % 2) for handle in range(4)]
    messages = [question(ARRIVE, 9, source=4, tag=tag) for tag in (2, 2, 1, 1, 1)]
    answers, _ = ask(Match(4), posts + messages)
    assert answers[4:] == [(FOUND, 1), (FOUND, 3), (FOUND, 0), (FOUND, 2), (JOINED, None)]


def test_wildcards_take_what_arrived_first():
    arrived = [question(ARRIVE, handle, source=handle, tag=10 - handle) for handle in range(4)]
    asked = [
        question(POST, 20, source=2, any_tag=1),
        question(PROBE, any_source=1, any_tag=1),
        question(PROBE, any_source=1, tag=7),
        question(TAKE, any_source=1, tag=7),
        question(TAKE, any_source=1, tag=7),
        question(POST, 21, any_source=1, any_tag=1),
        question(PROBE, any_source=1, any_tag=1, owner=1),
        question(PROBE, any_source=1, any_tag=1, context=1),
    ]
    answers, _ = ask(Match(4), arrived + asked)
    nothing = (NONE, None)
    assert answers[4:] == [(FOUND, 2), (FOUND, 0), (FOUND, 3), (FOUND, 3), nothing, (FOUND, 0), nothing, nothing]


def test_a_receive_is_cancelled_by_its_owner_alone_and_once():
    asked = [
        question(POST, 5, owner=1, tag=3),
        question(CANCEL, 5, owner=2, tag=3),
        question(CANCEL, 4, owner=1),
        question(CANCEL, 5, owner=1),
        question(CANCEL, 5, owner=1),
        question(ARRIVE, 6, owner=1, tag=3),
    ]
    answers, _ = ask(Match(2), asked)
    assert answers[1:] == [(NONE, None), (NONE, None), (FOUND, 5), (NONE, None), (JOINED, None)]


def test_a_full_list_is_told_and_changes_nothing():
    asked = [question(POST, handle, tag=handle) for handle in range(3)]
    asked += [question(ARRIVE, 9, tag=2), question(ARRIVE, 9, tag=0), question(POST, 2, tag=2)]
    answers, _ = ask(Match(2), asked)
    joined = (JOINED, None)
    assert answers == [joined, joined, (FULL, None), joined, (FOUND, 0), (FOUND, 9)]


def test_what_one_owner_has_leaves_the_others_their_share():
    posts = [question(POST, handle, owner=owner) for handle in range(2) for owner in (0, 0, 1)]
    answers, _ = ask(Match(4, share=2), posts)
    assert [outcome for outcome, _ in answers] == [JOINED, JOINED, JOINED, FULL, FULL, JOINED]


def test_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match="cells=1 must be at least 2"):
        MatchList(1)
    with pytest.raises(ValueError, match="share=5 must be from 1 to cells=4"):
        Match(4, share=5)


@pytest.mark.parametrize("cells", [2, 5, 8])
@pytest.mark.parametrize("seed", first_of(*range(8)))
def test_answers_are_those_of_lists(cells, seed):
    chance = random.Random(f"{cells} {seed}")
    share = chance.choice([None, cells // 2])
    lists, asked, expected = Lists(cells, share), [], []
    for one in random_questions(chance, 250, lists):
        asked.append(one)
        expected.append(lists.answer(one))
    dut = Match(cells, share)
    answers, _ = ask(dut, asked, idle=chance.choice([0.0, 0.5]), seed=seed)
    assert answers == expected
    assert {outcome for outcome, _ in answers} == set(Outcome)


class OrderSpec(wiring.Component):
    """Any questions at any time. Two entries of one list are watched, whichever: each from when it joins until it is
    taken. What is FOUND of them is there and fits, and the other one, if it fits too, is not older. Where nothing is
    FOUND, none of them fits. An entry that has JOINED leaves the list only by being FOUND.

    By induction, over whole questions. Assumed: no entry joins a list in which its owner has one of its handle.
    """

    def __init__(self, cells, receives):
        self.cells, self.receives = cells, receives
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Match(self.cells)
        m.d.comb += [dut.i.valid.eq(AnySeq(1)), Value.cast(dut.i.payload).eq(AnySeq(len(Value.cast(dut.i.payload))))]
        self._asks = asks_receives if self.receives else lambda op: ~asks_receives(op)
        names = [AnyConst(OWNER_BITS + HANDLE_BITS) for _ in range(2)]
        m.d.comb += Assume(names[0] != names[1])
        there, entries = [Signal(name=f"there_{n}") for n in range(2)], [Signal(Entry, name=f"entry_{n}") for n in "01"]
        first = Signal()  # entry 0 is the older one of both
        found = [self._watch(m, dut, *watched) for watched in zip(names, there, entries, strict=True)]
        for n in range(2):
            other, is_older = 1 - n, ~first if n == 0 else first
            fits_too = there[other] & self._fits(dut, entries[other])
            m.d.comb += Assert(~(found[n] & fits_too & is_older), "the oldest")
            with m.If(self._joined(dut, names[n]) & there[other]):
                m.d.sync += first.eq(other == 0)
        self._tie(m, dut, names, there, entries, first)
        return m

    def _name(self, entry):
        return Cat(entry.envelope.owner, entry.handle)

    def _fits(self, dut, entry):
        return fits(entry, dut.asked.entry, dut.asked.op)

    def _joins(self, op):
        return joins(op) & (joins_receives(op) if self.receives else ~joins_receives(op))

    def _joined(self, dut, name):
        joined = dut.o.valid & (dut.o.payload.outcome == Outcome.JOINED) & self._joins(dut.asked.op)
        return joined & (self._name(dut.asked.entry) == name)

    def _watch(self, m, dut, name, there, entry):
        """Return 1 if the watched entry is found in this slot."""
        op, answer = dut.asked.op, dut.o.payload
        asks, found = dut.o.valid & self._asks(op), Signal()
        m.d.comb += found.eq(
            asks & (answer.outcome == Outcome.FOUND) & (Cat(dut.asked.entry.envelope.owner, answer.handle) == name)
        )
        m.d.comb += [
            Assert(~found | (there & self._fits(dut, entry)), "it is there, and fits"),
            Assert(~asks | (answer.outcome == Outcome.FOUND) | ~(there & self._fits(dut, entry)), "none is missed"),
        ]
        with m.If(found & ~looks(op)):
            m.d.sync += there.eq(0)
        with m.If(self._joined(dut, name)):
            m.d.sync += [there.eq(1), entry.eq(dut.asked.entry)]
        for asked, comes in ((dut.i.payload, dut.i.valid), (dut.asked, dut.busy)):
            doubled = comes & self._joins(asked.op) & (self._name(asked.entry) == name) & there
            m.d.comb += (Assume if comes is dut.i.valid else Assert)(~doubled)
        return found

    def _tie(self, m, dut, names, there, entries, first):
        """Link the cells with what is watched, for the induction."""
        one = dut.lists[0 if self.receives else 1]
        at = [Signal(self.cells, name=f"at_{n}") for n in range(2)]  # the cell of each
        m.d.comb += Assert(((one.valid + 1) & one.valid) == 0, "cells fill from the first on")
        for name, is_there, entry, cells in zip(names, there, entries, at, strict=True):
            for n, cell in enumerate(one.entries):
                m.d.comb += cells[n].eq(one.valid[n] & (self._name(cell) == name))
                m.d.comb += Assert(~cells[n] | (cell.as_value() == entry.as_value()))
            m.d.comb += Assert(Mux(is_there, cells.any() & ((cells & (cells - 1)) == 0), cells == 0))
        m.d.comb += Assert(~(there[0] & there[1]) | (first == (at[0] < at[1])))


@pytest.mark.proof
@pytest.mark.parametrize("receives", [True, False], ids=["receives", "messages"])
def test_the_oldest_entry_that_fits_is_found_and_none_is_missed(prove, receives):
    prove(OrderSpec(3, receives), depth=6)


class ApartSpec(wiring.Component):
    """Any questions at any time: no message and receive that fit are both kept. By induction, over whole questions."""

    def __init__(self, cells):
        self.cells = cells
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Match(self.cells)
        m.d.comb += [dut.i.valid.eq(AnySeq(1)), Value.cast(dut.i.payload).eq(AnySeq(len(Value.cast(dut.i.payload))))]
        receives, messages = dut.lists
        for one in dut.lists:
            m.d.comb += Assert(((one.valid + 1) & one.valid) == 0, "cells fill from the first on")
        for n, receive in enumerate(receives.entries):
            for k, message in enumerate(messages.entries):
                kept = receives.valid[n] & messages.valid[k]
                m.d.comb += Assert(~(kept & fits(receive, message, MatchOp.ARRIVE)), "both are kept")
        return m


@pytest.mark.proof
def test_no_message_and_receive_that_fit_are_both_kept(prove):
    prove(ApartSpec(2), depth=6)


class Top(wiring.Component):
    """`Match` for cocotb. Its output has no `ready`, which would be a constant port."""

    def __init__(self):
        answers = wiring.Signature({"valid": Out(1), "payload": Out(Answer)})
        super().__init__({"i": In(stream.Signature(Question)), "o": Out(answers)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.match = match = Match(8)
        wiring.connect(m, wiring.flipped(self.i), match.i)
        m.d.comb += [self.o.valid.eq(match.o.valid), self.o.payload.eq(match.o.payload)]
        return m


@pytest.mark.slow
@pytest.mark.bench
def test_under_cocotb(tmp_path):
    run(Top(), Path(__file__).with_name("cocotb_match.py"), tmp_path)
