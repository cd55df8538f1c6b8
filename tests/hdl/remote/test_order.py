"""What a receiver knows of its senders, and the writes that it makes."""

import random

from lanai_hdl.bfm import Bench, stream_put
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.order import Place, ReceiveOrder
from lanai_hdl.remote.packets import WINDOW, Status
from lanai_hdl.remote.writer import MemoryWriter

SMALL = Remote(processes=2, peers=2, pages=4, payload=16)


def test_each_request_is_next_once_and_a_duplicate_for_as_long_as_it_may_come_again():
    chance, dut = random.Random(5), ReceiveOrder(SMALL)
    expected, outcomes = [0, 0], [{}, {}]

    async def arrive(context):
        while not context.get(dut.ready):
            await context.tick()
        for _ in range(3000):
            source = chance.randrange(2)
            distance = chance.choice([0, 0, 0, 1, 2, -1, -2, -WINDOW, -WINDOW - 1, 300, chance.randrange(1 << 16)])
            sequence = (expected[source] + distance) % (1 << 16)
            status, result = chance.choice(list(Status)), chance.getrandbits(32)
            for signal, value in (
                (dut.source, source), (dut.sequence, sequence), (dut.outcome, status), (dut.atomic, 1), (dut.result,
                 result)
            ):  # fmt: skip
                context.set(signal, value)
            place = context.get(dut.place)
            behind = (expected[source] - sequence) % (1 << 16)
            if behind == 0:
                assert place == Place.NEXT
                context.set(dut.accept, 1)
                outcomes[source][sequence] = status, result
                expected[source] = (sequence + 1) % (1 << 16)
            elif behind <= WINDOW:
                assert place == Place.DUPLICATE
                if sequence in outcomes[source]:
                    assert context.get(dut.status) == outcomes[source][sequence][0]
                if behind == 1 and sequence in outcomes[source]:
                    assert context.get(dut.value) == outcomes[source][sequence][1]
            else:
                assert place == Place.AHEAD
            await context.tick()
            context.set(dut.accept, 0)

    bench = Bench(dut, 10_000)
    bench.add(arrive)
    bench.run()
    assert min(expected) > 300


def test_the_writer_writes_the_bytes_of_its_runs():
    chance, dut = random.Random(6), MemoryWriter()
    memory, wanted = {}, {}
    runs = []
    for _ in range(150):
        address, length = chance.randrange(0x1000, 0x1100), chance.randrange(1, 30)
        words = [chance.getrandbits(32) for _ in range((address % 4 + length + 3) // 4)]
        runs.append((address, length, words))
        data = b"".join(word.to_bytes(4, "big") for word in words)[address % 4 :][:length]
        wanted.update(enumerate(data, address))
    bursts, refused = [], []

    async def host(context):
        """Takes bursts and words at any pace, and answers each word some slots later."""
        left, at, due = 0, 0, []
        while True:
            context.set(dut.burst.ready, left == 0)
            ready = left != 0 and chance.random() < 0.6
            context.set(dut.write.ready, ready)
            answers = bool(due) and chance.random() < 0.5
            context.set(dut.written, answers)
            context.set(dut.refused, due[0] if answers else 0)
            _, _, burst, payload, valid, write = await context.tick().sample(
                dut.burst.valid, dut.burst.payload, dut.write.valid, dut.write.payload
            )
            if answers:
                due.pop(0)
            if burst and left == 0:
                left, at = payload.words, payload.word * 4
                bursts.append((payload.write, payload.words))
            elif ready and valid:
                for lane in range(4):
                    if write.be >> (3 - lane) & 1:
                        memory[at + lane] = write.data >> (24 - 8 * lane) & 0xFF
                left, at = left - 1, at + 4
                due.append(chance.random() < 0.02)
                refused.append(due[-1])

    async def give(context):
        for address, length, words in runs:
            before = len(refused)
            await stream_put(context, dut.run, [{"address": address, "length": length}])
            done = 0
            context.set(dut.words.valid, 1)
            for n, value in enumerate(words):
                context.set(dut.words.payload, value)
                ready = 0
                while not ready:
                    _, _, ready, done, bad = await context.tick().sample(dut.words.ready, dut.done, dut.bad)
                assert not done or n == len(words) - 1
            context.set(dut.words.valid, 0)
            while not done:
                _, _, done, bad = await context.tick().sample(dut.done, dut.bad)
            assert bad == any(refused[before:])

    bench = Bench(dut, 30_000)
    bench.add_background(host)
    bench.add(give)
    bench.run()
    assert memory == wanted
    assert bursts == [(1, len(words)) for _, _, words in runs]
    assert any(refused)
