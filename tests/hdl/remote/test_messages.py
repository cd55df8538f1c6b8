"""Messages that meet receives in the adapter: two NICs, by the packets between them."""

import random

import pytest
from pairs import first_of

from lanai_hdl.remote.messages import SLOTS, Again, Ask, End, EnvelopeWord, Fate, receipt_at
from lanai_hdl.remote.packets import word
from lanai_hdl.remote.reference import ReferenceCommand, ReferenceExposure, ReferenceNic, ask, run
from lanai_hdl.remote.reference_messages import ReferenceMatching

from .bench import KEY, PAGE, Op, Side, Status, play
from .messaging import CELLS, MATCHING, MESSAGES, OWN, Messenger
from .test_adapter import Link

NONE, FULL, DONE = (End.NONE,), (End.FULL,), (End.DONE,)
SHARE = CELLS // MATCHING.processes
FREE = 200  # bytes of a FIFO in the random story: a few records


def between(script, fate=lambda words: [words], *, config=MATCHING, free=PAGE, **options):
    """Runs `script(context, *messengers)`: of process 0 of both sides, then of process 1."""
    sides = [Side(n, config=config, **options) for n in range(2)]
    messengers = [Messenger(side, process) for process in range(config.processes) for side in sides]

    async def whole(context):
        for side in sides:
            await side.boot(context)
            if config.processes > 1:
                await side.boot_second(context)
        for one in messengers:
            await one.open(context, free)
        await script(context, *messengers)
        for side in sides:
            await side.rest(context)

    play(sides, whole, wire=Link(sides, fate).carry, slots=100_000)
    return sides


def test_a_message_goes_to_the_buffer_of_the_receive_that_fits():
    async def script(context, source, target, *others):
        for size in (60, 16, 5, 1, 0):
            data = bytes(range(1, size + 1))
            await target.post(context, 3, tag=7, source=source.name, at=64, size=60)
            assert await source.send(context, target, 7, data) is Status.OK
            assert target.buffer(60, size + 5) == bytes(4) + data + bytes(1)
            assert target.receipt(3) == (End.PLACED, source.name, 7, size)
            assert target.record() is None
            target.page(3)[:2048] = bytes(2048)

    _, target = between(script)
    assert target.counts["REMOTE_SERVED"] == 5


def test_a_message_that_no_receive_fits_is_a_record_until_one_is_posted():
    async def script(context, source, target, *others):
        for tag in (7, 8, 7):
            assert await source.send(context, target, tag, bytes([tag])) is Status.OK
            assert target.record() == (Fate.HELD, None, source.name, tag, 1, bytes([tag]))
        assert await target.asked(context, 0, Ask.POST, 8) == (End.RECORD, 1)
        assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, 0)
        assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, 2)

    between(script)


def test_what_does_not_suit_its_buffer_is_a_record_of_the_receive():
    async def script(context, source, target, *others):
        async def arrives(data=b"data", record=0, **post):
            await target.post(context, 5, tag=7, **post)
            assert await source.send(context, target, 7, data, record=record) is Status.OK
            assert target.record() == (Fate.TAKEN, 5, source.name, 7, 1, data)
            assert target.receipt(5) is None
            assert target.buffer(0, 2048) == bytes(2048)

        await arrives()  # it has none
        await arrives(at=64, size=3)  # too small
        await arrives(at=66)  # not at a word
        await arrives(at=PAGE - 4, data=b"crosses the page's end")
        await arrives(at=64, local=9)  # no such exposure
        await arrives(at=64, record=1)
        await arrives(at=64, size=0, data=b"", record=1)

    between(script)


def test_wildcards_and_order_of_receives():
    async def script(context, source, target, other, *others):
        await target.post(context, 0, source=other.name)
        await target.post(context, 1, tag=9)
        await target.post(context, 2, comm=2)
        assert await source.send(context, target, 9, b"1") is Status.OK
        assert await other.send(context, target, 9, b"0") is Status.OK
        assert await source.send(context, target, 9, b"2", comm=2) is Status.OK
        records = [target.record() for _ in range(3)]
        assert [record[1] for record in records] == [1, 0, 2]
        assert [record[-1] for record in records] == [b"1", b"0", b"2"]

    between(script)


def test_probe_take_and_cancel():
    async def script(context, source, target, *others):
        assert await target.asked(context, 0, Ask.PROBE) == NONE
        assert await source.send(context, target, 7, b"a") is Status.OK
        assert await source.send(context, target, 8, b"b") is Status.OK
        assert await target.asked(context, 0, Ask.PROBE) == (End.RECORD, 0)
        assert await target.asked(context, 0, Ask.PROBE, 8) == (End.RECORD, 1)
        assert await target.asked(context, 0, Ask.TAKE, 8) == (End.RECORD, 1)
        assert await target.asked(context, 0, Ask.TAKE, 8) == NONE
        assert await target.asked(context, 0, Ask.TAKE) == (End.RECORD, 0)
        await target.post(context, 1, tag=7)
        await target.post(context, 2, tag=7)
        assert await target.asked(context, 0, Ask.CANCEL, other=1) == DONE
        assert await target.asked(context, 0, Ask.CANCEL, other=1) == NONE
        assert await target.asked(context, 0, Ask.CANCEL, other=200) == NONE
        assert await source.send(context, target, 7, b"c") is Status.OK
        assert [target.record()[1] for _ in range(3)] == [None, None, 2]
        assert await target.asked(context, 0, Ask.CANCEL, other=2) == NONE

    between(script)


def test_order_stays_when_messages_find_no_cell():
    """A message that finds no cell is left to the process, as are later ones. The NIC holds older ones."""

    async def script(context, source, target, *others):
        for n in range(SHARE + 2):
            assert await source.send(context, target, 7, bytes([n])) is Status.OK
        fates = [target.record()[0] for _ in range(SHARE + 2)]
        assert fates == [Fate.HELD] * SHARE + [Fate.LEFT] * 2
        assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, 0)
        assert await source.send(context, target, 7, b"late") is Status.OK  # there is a cell, and older ones are left
        assert target.record()[0] is Fate.LEFT
        for n in range(1, SHARE):
            assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, n)
        assert await target.asked(context, 0, Ask.PROBE, 7) == FULL
        assert await target.asked(context, 0, Ask.TAKE, 7) == FULL
        assert await target.asked(context, 0, Ask.RESUME, at=SHARE + 2) == NONE  # one has not been taken
        assert await target.asked(context, 0, Ask.POST, 7) == FULL
        assert await target.asked(context, 0, Ask.RESUME, at=SHARE + 3) == DONE
        assert await target.asked(context, 0, Ask.PROBE, 7) == NONE
        await target.post(context, 0, tag=7)
        assert await source.send(context, target, 7, b"again") is Status.OK
        assert target.record()[:2] == (Fate.TAKEN, 0)

    between(script)


def test_order_stays_when_receives_find_no_cell():
    async def script(context, source, target, *others):
        for slot in range(SHARE):
            await target.post(context, slot, tag=slot)
        assert await target.asked(context, 9, Ask.POST, 50) == FULL
        assert await source.send(context, target, 50, b"") is Status.OK
        assert target.record()[:2] == (Fate.LEFT, None)  # the process has the receive for it
        assert await source.send(context, target, 1, b"") is Status.OK
        assert target.record()[:2] == (Fate.TAKEN, 1)
        assert await target.asked(context, 9, Ask.POST, 51) == FULL  # though there is a cell
        assert await target.asked(context, 8, Ask.RESUME, at=2) == DONE
        await target.post(context, 9, tag=51)
        assert await source.send(context, target, 51, b"") is Status.OK
        assert target.record()[:2] == (Fate.TAKEN, 9)

    between(script)


def test_a_sender_that_finds_no_room_is_refused_until_it_sends_again():
    async def script(context, source, target, other, third):
        assert await source.send(context, target, 1, bytes(36)) is Status.OK  # 48 bytes of a record
        assert await source.send(context, target, 2, b"full") is Status.FULL
        await target.post(context, 4, tag=3, source=source.name)
        await target.post(context, 5, tag=2, source=source.name)
        assert await source.send(context, target, 3, b"not before") is Status.BEFORE
        assert await other.send(context, third, 3, b"to another") is Status.OK
        assert await source.send(context, third, 3, b"to another") is Status.OK
        assert await other.send(context, target, 4, b"other") is Status.FULL
        assert await source.send(context, target, 9, b"", again=Again.AGAIN, record=1) is Status.FULL
        assert target.record()[3] == 1
        assert target.record() is None
        target.release()
        assert await source.send(context, target, 3, b"not before") is Status.BEFORE
        assert await source.send(context, target, 2, b"full", again=Again.AGAIN) is Status.OK
        assert await source.send(context, target, 3, b"now") is Status.OK
        assert await other.send(context, target, 4, b"other") is Status.BEFORE
        assert await other.send(context, target, 4, b"other", again=Again.AGAIN) is Status.OK
        assert [target.record()[:2] for _ in range(3)] == [(Fate.TAKEN, 5), (Fate.TAKEN, 4), (Fate.HELD, None)]

    between(script, free=48)


def test_what_is_not_allowed_is_refused_and_takes_no_receive():
    async def script(context, source, target, *others):
        await target.post(context, 1, tag=7, at=64)

        async def refused(status, data=b"data", **options):
            assert await source.send(context, target, 7, data, **options) is status
            assert target.record() is None
            assert target.receipt(1) is None

        await refused(Status.KEY, key=1)
        await refused(Status.INVALID, length=3)
        await refused(Status.INVALID, length=0)
        await refused(Status.INVALID, length=65)
        source.page(3)[-64:] = bytes(64)
        await target.side.expose(context, 3, 0, 2 * PAGE, append=1, write=1)
        await refused(Status.RIGHT)
        await target.side.expose(context, 3, 64, 2 * PAGE, messages=1)
        await refused(Status.RANGE)
        await target.side.expose(context, 3, 0, 2 * PAGE, messages=1)
        source.side.load(0, b"")
        for op in (Op.APPEND, Op.RETRY, Op.WRITE):  # the FIFO for messages is for SENDs alone
            assert await source.side.command(context, op, 1, 3, 0, 8, 5, 2048) is Status.RIGHT
        assert await source.send(context, target, 7, b"data") is Status.OK
        assert target.receipt(1) == (End.PLACED, source.name, 7, 4)

    between(script)


def test_what_is_aside_is_no_message_for_a_receive():
    async def script(context, source, target, *others):
        await target.post(context, 3, at=64)
        for n in range(2 * CELLS):
            assert await source.send(context, target, n, b"", aside=1) is Status.OK
            assert target.record()[:4] == (Fate.LEFT, None, source.name, n)
        assert await target.asked(context, 0, Ask.PROBE) == NONE
        assert await source.send(context, target, 7, b"message") is Status.OK
        assert target.receipt(3) == (End.PLACED, source.name, 7, 7)
        assert await source.send(context, target, 7, b"message") is Status.OK
        assert target.record()[0] is Fate.HELD
        assert await target.asked(context, 0, Ask.POST) == (End.RECORD, 2 * CELLS)

    between(script)


def test_processes_have_receives_of_their_own():
    async def script(context, source, target, other, third):
        for slot in range(SHARE):
            await third.post(context, slot, tag=7, at=4 * slot)
        assert await third.asked(context, 9, Ask.POST, 7) == FULL
        assert await third.asked(context, 10, Ask.CANCEL, other=0) == DONE
        await target.post(context, 1, tag=7, at=64)
        assert await target.asked(context, 2, Ask.CANCEL, other=2) == NONE
        assert await source.send(context, target, 7, b"mine") is Status.OK
        assert target.receipt(1) == (End.PLACED, source.name, 7, 4)
        assert [third.receipt(slot) for slot in (1, 2)] == [None, None]
        assert await target.asked(context, 0, Ask.RESET) == DONE
        assert await source.send(context, third, 7, b"1") is Status.OK
        assert third.receipt(1) == (End.PLACED, source.name, 7, 1)

    between(script)


def test_reset_forgets_what_the_process_had():
    async def script(context, source, target, *others):
        for n in range(SHARE + 1):
            await source.send(context, target, n, b"")
        for slot in range(2):
            await target.post(context, slot, tag=90 + slot)
        assert await target.asked(context, 9, Ask.RESET) == DONE
        await target.open(context)
        target.head = 0
        assert await target.asked(context, 9, Ask.PROBE) == NONE
        assert await source.send(context, target, 90, b"new") is Status.OK
        assert target.record()[0] is Fate.HELD
        assert await target.asked(context, 9, Ask.POST, 90) == (End.RECORD, 0)

    between(script)


def test_a_process_that_asks_too_much_loses_its_own():
    async def script(context, source, target, other, third):
        for n in range(3 * SLOTS):
            await third.ask(context, n % SLOTS, Ask.PROBE, n)
        assert await target.asked(context, 0, Ask.PROBE, 1) == NONE
        await target.side.rest(context)
        assert await third.asked(context, 0, Ask.PROBE) == NONE

    _, target = between(script)
    assert 0 < target.counts["REMOTE_FAULTS"] < 2 * SLOTS


class Story:
    """Random messages and receives of two processes of each of two NICs, on the gateware and on the model: all ends,
    all receipts, all bytes of memory are equal after each step."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.ends, self.receipts, self.fates = set(), set(), set()

    async def script(self, context, *messengers):
        self.messengers = messengers
        self.models = {one.side.number: self._model(one.side) for one in messengers[:2]}
        for _ in range(60):
            step = self.chance.choice([self._send, self._send, self._send, self._ask, self._ask, self._take])
            await step(context)
            for one in messengers[:2]:
                for page, content in one.side.pages.items():
                    assert content == self.models[one.side.number].memory[page], hex(page)

    def _model(self, side):
        model = ReferenceNic(side.config, windows={0: 1, 1: 2})
        model.memory = {page: bytearray(content) for page, content in side.pages.items()}
        for process in range(2):
            model.pages |= {(process, n): (process + 1 << 16) + n for n in range(4)}
            model.exposures[process, MESSAGES] = ReferenceExposure(0, 2 * PAGE, KEY, 1, True, messages=True)
            model.exposures[process, OWN] = ReferenceExposure(0, PAGE, KEY, 3, True)
            model.matching[process] = ReferenceMatching(SHARE)
        return model

    def _copy(self, one, page, begin, end):
        """Copy to the model what the host has written to the gateware's memory."""
        number = (one.process + 1 << 16) + page
        self.models[one.side.number].memory[number][begin:end] = one.side.pages[number][begin:end]

    def _envelope(self):
        return {"tag": self.chance.choice([1, 1, 2, 1 << 23]), "comm": self.chance.choice([1, 1, 1, 0x8001])}

    async def _send(self, context):
        """A few messages of a process, one behind the other."""
        chance, source = self.chance, self.chance.choice(self.messengers)
        others = [one for one in self.messengers if one.side is not source.side]
        sent = []
        for buffer in range(chance.randrange(1, 4)):
            to, options = chance.choice(others), self._envelope()
            data = chance.randbytes(chance.choice([0, 1, 4, 7, 33, 60]))
            flags = {"record": chance.random() < 0.1, "aside": chance.random() < 0.1}
            again = chance.choice([Again.NO, Again.NO, Again.AGAIN])
            key = KEY if chance.random() < 0.95 else 1
            tag = options.pop("tag")
            ends = await source.begin(context, to, tag, data, again=again, buffer=buffer, key=key, **flags, **options)
            sent.append((ends, buffer))
            command = ReferenceCommand(
                Op.SEND, to.side.number, to.process << 4 | MESSAGES, key, word(EnvelopeWord, tag=tag, **flags),
                4 + len(data), OWN, source.STAGED + 256 * buffer, again=again == Again.AGAIN,
            )  # fmt: skip
            sent[-1] += (command,)
        self._copy(source, 3, source.STAGED, PAGE)
        for ends, buffer, command in sent:
            status = await source.side.end(context, ends, buffer, source.process)
            expected, _ = run(self.models, source.side.number, source.process, command)
            assert status is expected
            self.ends.add(status)
        self._copy(source, 0, 0, 128)  # flags, which the model has none of

    async def _ask(self, context):
        chance, one = self.chance, self.chance.choice(self.messengers)
        asked = chance.choice([Ask.POST, Ask.POST, Ask.POST, Ask.POST, *Ask])
        posted = {receive.slot for receive in self.models[one.side.number].matching[one.process].receives}
        slot = chance.choice([slot for slot in range(12) if slot not in posted])
        options = self._envelope()
        tag = chance.choice([options.pop("tag")] * 2 + [None])
        others = [other.name for other in self.messengers if other.side is not one.side]
        if asked is Ask.RESET and chance.random() < 0.7:
            asked = Ask.RESUME
        if asked is Ask.RESUME:
            options["at"] = one.taken if chance.random() < 0.8 else chance.getrandbits(16)
        else:
            options |= {
                "at": 4 * chance.randrange(400) + chance.choice([0, 0, 0, 2]),
                "size": chance.choice([60, 30, 2]),
            }
            options |= {"placed": chance.choice([1, 1, 0]), "local": chance.choice([OWN] * 6 + [9])}
        options["other"] = chance.choice([*posted, 3, 99])
        words = await one.ask(context, slot, asked, tag, chance.choice([None, *others]), **options)
        self._copy(one, 0, receipt_at(slot), receipt_at(slot) + 12)
        model = self.models[one.side.number]
        ask(model, one.process, slot, words)
        expected = bytes(model.memory[one.process + 1 << 16][receipt_at(slot) :][:12])
        if any(expected):
            await one.answered(context, slot)
            self.receipts.add((asked, one.receipt(slot)[0]))
        await one.side.rest(context)
        if asked is Ask.RESET:
            one.taken = 0

    async def _take(self, context):
        """The host takes the records, and makes room."""
        one = self.chance.choice(self.messengers)
        while (record := one.record()) is not None:
            self.fates.add(record[0])
        one.release(FREE)
        self._copy(one, 1, 4, 8)


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("seed", first_of(*range(8)))
def test_all_is_as_the_model_has_it(seed, loss):
    story, wire = Story(seed), random.Random(seed)

    def fate(words):
        return [] if wire.random() < loss else [words] * wire.choice([1, 1, 1, 1 + (loss > 0)])

    between(story.script, fate, free=FREE, timeout=250, retries=200)
    assert story.ends >= {Status.OK, Status.FULL, Status.BEFORE}
    assert len(story.fates) == len(Fate)
