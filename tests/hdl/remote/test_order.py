"""What a receiver knows of its senders."""

import random

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.order import Place, ReceiveOrder
from lanai_hdl.remote.packets import WINDOW, Status

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
                before = context.get(dut.place), context.get(dut.status)
                context.set(signal, value)
                assert (context.get(dut.place), context.get(dut.status)) == before, "from registers"
            await context.tick()  # all answers stand in the next slot
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
