"""Random messages and receives: all is as a model has it, and no process learns of another's messages."""

import random

import pytest
from pairs import first_of

from lanai_hdl.remote.messages import Again, Ask, End, EnvelopeWord, Fate, receipt_at
from lanai_hdl.remote.packets import word
from lanai_hdl.remote.reference import ReferenceCommand, ReferenceExposure, ReferenceNic, ask, run
from lanai_hdl.remote.reference_messages import ReferenceMatching

from .bench import KEY, PAGE, Op, Status
from .messaging import MESSAGES, OWN, SHARE, between

FREE = 200  # bytes of a FIFO: a few records
STEPS = 60  # of a story, or more until it has seen all


class Story:
    """Random messages and receives of two processes of each of two NICs, on the gateware and on the model: all ends,
    all receipts, all bytes of memory are equal after each step.

    With a `secret` messages go between processes of the same number alone, and it draws the bytes of process 0's
    messages and what other tags and communicators they have. `seen` is all that process 1 sees, with its time.
    """

    def __init__(self, seed, secret=None):
        self.chance = random.Random(seed)
        self.apart = secret is not None
        self.secret = random.Random(secret) if self.apart else self.chance
        self.others = (self.secret.getrandbits(24), self.secret.getrandbits(16)) if self.apart else (0, 0)
        self.ends, self.fates = set(), set()
        self.slots, self.seen = 0, []

    async def count(self, context):
        while True:
            await context.tick()
            self.slots += 1

    async def script(self, context, *messengers):
        self.messengers = messengers
        self.models = {one.side.number: self._model(one.side) for one in messengers[:2]}
        steps = 0
        while steps < STEPS or (not self.saw_all and steps < 10 * STEPS):
            steps += 1
            step = self.chance.choice([self._send, self._send, self._send, self._ask, self._ask, self._take])
            await step(context)
            for one in messengers[:2]:
                for page, content in one.side.pages.items():
                    assert content == self.models[one.side.number].memory[page], hex(page)
                    if page >= 0x20000:
                        self.seen.append((self.slots, page, bytes(content)))

    @property
    def saw_all(self):
        return self.ends >= {Status.OK, Status.FULL, Status.BEFORE} and len(self.fates) == len(Fate)

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

    def _envelope(self, one):
        tag, comm = (0, 0) if one.process else self.others
        return self.chance.choice([1, 1, 2, 1 << 23]) ^ tag, self.chance.choice([1, 1, 1, 0x8001]) ^ comm

    def _partners(self, one):
        other_side = [other for other in self.messengers if other.side is not one.side]
        return [other for other in other_side if not self.apart or other.process == one.process]

    async def _send(self, context):
        """A few messages of a process, one behind the other."""
        chance, source = self.chance, self.chance.choice(self.messengers)
        sent = []
        for buffer in range(chance.randrange(1, 4)):
            to, (tag, comm) = chance.choice(self._partners(source)), self._envelope(source)
            size = chance.choice([0, 1, 4, 7, 33, 60])
            data = (chance if source.process else self.secret).randbytes(size)
            flags = {"record": chance.random() < 0.1, "aside": chance.random() < 0.1}
            again = chance.choice([Again.NO, Again.NO, Again.AGAIN])
            key = KEY if chance.random() < 0.95 else 1
            ends = await source.begin(context, to, tag, data, comm=comm, again=again, buffer=buffer, key=key, **flags)
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
        tag, comm = self._envelope(one)
        tag, options = chance.choice([tag, tag, None]), {"comm": comm}
        others = [other.name for other in self._partners(one)]
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
    """With losses the hosts' memories are slow, too."""
    story, wire = Story(seed), random.Random(seed)

    def fate(words):
        return [] if wire.random() < loss else [words] * wire.choice([1, 1, 1, 1 + (loss > 0)])

    slow = (lambda: wire.choice([0, 0, 0, 1, 9])) if loss else None
    between(story.script, fate, free=FREE, timeout=250, retries=200, slow=slow)
    assert story.saw_all


@pytest.mark.parametrize("seed", first_of(*range(8)))
def test_no_process_learns_of_the_messages_of_another(seed):
    """Other bytes, tags and communicators of process 0, which match as before: process 1 sees the same, at the same
    time."""
    stories = [Story(seed, secret) for secret in (1, 2)]
    for story in stories:
        between(story.script, free=FREE, timeout=250, watch=story.count)
    first, second = (story.seen for story in stories)
    assert first == second


@pytest.mark.parametrize("seed", first_of(*range(8)))
def test_a_reset_of_the_receiver_loses_what_it_kept_and_no_more(seed):
    """The receiver is reset in any slot while messages come. Then it has nothing, and what is sent is lost until a
    session is opened again, in which all comes in order."""
    chance = random.Random(seed)

    async def script(context, source, target, *others):
        for _ in range(3):
            for slot in range(SHARE):
                await target.post(context, slot, tag=slot, at=64 * slot)
            tags = [await source.begin(context, target, n, bytes([n]) * 20, buffer=n) for n in range(4)]
            await context.tick().repeat(chance.randrange(250))
            await target.side.reset(context)
            await target.side.boot(context, alone=True)
            ends = {await source.side.end(context, tag, n) for n, tag in enumerate(tags)}
            assert ends <= {Status.OK, Status.LOST}
            await target.open(context)
            target.head = 0
            if Status.LOST not in ends:  # all had come: the next message finds that out
                assert await source.send(context, target, 9, b"") is Status.LOST
            await source.side.open_session(context, 1)
            assert await target.asked(context, 0, Ask.PROBE) == (End.NONE,)
            for n in range(SHARE + 1):
                assert await source.send(context, target, n, bytes([n])) is Status.OK
            fates = [target.record()[::5] for _ in range(SHARE + 1)]
            assert fates == [(Fate.LEFT if n == SHARE else Fate.HELD, bytes([n])) for n in range(SHARE + 1)]
            assert await target.asked(context, 0, Ask.POST, 1) == (End.RECORD, 1)
            assert await target.asked(context, 0, Ask.RESET) == (End.DONE,)
            await target.open(context)
            target.head = 0

    between(script, timeout=250, retries=5)
