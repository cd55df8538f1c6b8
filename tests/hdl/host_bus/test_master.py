"""The bus master is reset while a transfer is under way: what the host answers late reaches no later
transfer."""

import pytest

from lanai_hdl.bfm import Bench, HostMemory, PysimPins, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import RESET_SLOTS
from lanai_hdl.host_bus.bus import HostBus

OLD, NEW, WORDS = 0x1000, 0x2000, 12


def words(mark, phase):
    return [mark << 24 | phase << 8 | n for n in range(WORDS)]


async def cut_off(bus, context, memory, phase, writes):
    """A transfer is cut off `phase` slots after it was begun; the next one must be right."""
    engine, old, new = bus.engine, words(0xA0, phase), words(0xC0, phase)
    untouched = memory.dump(NEW + 4 * WORDS, 64)
    for n in range(WORDS):
        memory.load(OLD + 4 * n, old[n].to_bytes(4, "big") if not writes else bytes(4))
        memory.load(NEW + 4 * n, new[n].to_bytes(4, "big") if not writes else bytes(4))
    await stream_put(context, engine.burst, [{"write": writes, "word": OLD // 4, "words": WORDS}])
    context.set(engine.read.ready, 1)
    context.set(engine.write.valid, writes)
    context.set(engine.write.payload, {"data": old[0], "be": 0b1111})
    await context.tick().repeat(phase)
    context.set(engine.write.valid, 0)
    context.set(engine.read.ready, 0)
    context.set(bus.reset, 1)
    await context.tick().repeat(RESET_SLOTS)
    context.set(bus.reset, 0)
    written = memory.dump(OLD, 4 * WORDS)
    await stream_put(context, engine.burst, [{"write": writes, "word": NEW // 4, "words": WORDS}])
    if writes:
        await stream_put(context, engine.write, [{"data": word, "be": 0b1111} for word in new])
    else:
        got = [word.data for word in await stream_get(context, engine.read, WORDS)]
        assert got == new, f"phase {phase}"
    while not context.get(bus.idle):
        await context.tick()
    assert memory.dump(NEW, 4 * WORDS) == b"".join(word.to_bytes(4, "big") for word in new), f"phase {phase}"
    assert memory.dump(OLD, 4 * WORDS) == written, f"phase {phase}: written after the reset"
    assert memory.dump(NEW + 4 * WORDS, 64) == untouched


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize(("latency", "pause"), [(1, 0.0), (200, 0.0), (70, 0.6)])
def test_no_word_of_a_transfer_cut_off_gets_into_the_next(latency, pause, writes):
    """Whenever it is cut off, also by a host that answers long after the reset."""
    bus = HostBus(NicConfig())
    bench = Bench(bus, 200_000)

    async def serve(context):
        bench.memory = HostMemory(PysimPins(context, bus.mem), latency=latency, pause=pause)
        await bench.memory.serve()

    async def script(context):
        for phase in range(1, 2 * (NicConfig().read_setup + WORDS) + 10):
            await cut_off(bus, context, bench.memory, phase, writes)

    bench.add_background(serve)
    bench.add(script)
    bench.run()
