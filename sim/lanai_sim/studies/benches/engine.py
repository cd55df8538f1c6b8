"""The engine: NIC cycles a second with 1, 2, 4 and 8 busy NICs against a bare evaluation loop of
the same gateware, NIC cycles a second of recorded traffic, threads, and what entering Python and
switching to a rank's process cost."""

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial

from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.machine import Control, host_offset
from lanai_hdl.remote.config import Remote

from ...engines.base import Access, Cable, Layout
from ...engines.rtl import RtlEngine
from ...job.job import Job
from ...kernel.node import words_of
from ..recordings import TRAFFIC, rates
from .core import half_memory_loop

NAME = "engine"
HELP = "simulation engine: speed against its bare models, threads, entries"

# The best round counts, as other work on the machine only ever slows. Short rounds of what is
# compared alternate.
ROUNDS = 150
SHARE = 50  # of the cycles asked for that one round has
STARTS = 3  # runs of ranks, of which the best counts

# Two ranks that exchange a word through the transport, without MPI: each half of a round trip
# switches to a process once.
SWITCHES = 4000
PING_PONG = """
import sys, time
from lanai_host.operation import Wait
from lanai_host.simulator.client import SimulatorClient
client, rounds = SimulatorClient.from_environment(), int(sys.argv[1])
transport, why = client.transport, Wait("bench")
started = time.perf_counter()
for _ in range(rounds // 2):
    if client.rank:
        transport.collect(why)
    transport.post(1 - client.rank, b"word")
    if not client.rank:
        transport.collect(why)
spent = time.perf_counter() - started
transport.close()
if not client.rank:
    open(sys.argv[2], "w").write(str(spent / rounds))
"""

# One rank that asks the simulator for something that it can do at once: what every request of a
# driver costs at least.
REQUESTS = """
import sys, time
from lanai_host.simulator.client import SimulatorClient
from lanai_host.simulator.protocol import Op
client, rounds = SimulatorClient.from_environment(), int(sys.argv[1])
started = time.perf_counter()
for _ in range(rounds):
    client.call(Op.CATCH_UP)
spent = time.perf_counter() - started
client.finalize()
open(sys.argv[2], "w").write(str(spent / rounds))
"""


BUSY = (1, 2, 4, 8)  # NICs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cycles", type=int, default=100_000, help="cycles of each NIC to time (default: %(default)s)")
    parser.add_argument(
        "--traffic", nargs="*", choices=TRAFFIC, default=[*TRAFFIC], metavar="NAME",
        help=f"runs whose NICs' inputs are recorded and replayed, of {', '.join(TRAFFIC)} (default: all)",
    )  # fmt: skip
    parser.add_argument("--only-traffic", action="store_true", help="measure nothing else")


def busy_engine(nics: int, threads: int = 1, *, config: NicConfig | None = None) -> RtlEngine:
    """NICs on cables in pairs (one alone: to itself), whose processors run a loop that is half
    memory accesses."""
    cables = tuple(Cable(n, 0, min(n + 1, nics - 1), 0) for n in range(0, nics, 2))
    engine = RtlEngine(Layout(config or lanai41(), nics, cables), threads=threads)
    program = [Access(0, True, *word) for word in words_of(0, half_memory_loop())]
    for nic in range(nics):
        engine.pio(nic, [*program, Access(0, True, host_offset("CONTROL"), int(Control.RUN))])
    engine.run(4000)
    return engine


def rate(engine: RtlEngine, cycles: int, clock: Callable[[], float]) -> float:
    """NIC cycles a second in one round, all NICs together."""
    nics = range(engine.layout.nics)
    began, started = sum(map(engine.slot, nics)), clock()
    engine.run(engine.slot(0) + 2 * max(1, cycles // len(nics) // SHARE))
    return (sum(map(engine.slot, nics)) - began) / 2 / (clock() - started)


def bare_rate(engine: RtlEngine, cycles: int, clock: Callable[[], float]) -> float:
    """Cycles a second of one NIC's model, evaluated in a loop of C++ with nothing around it. The
    engine is of no other use then."""
    cycles = max(1, cycles // SHARE)
    started = clock()
    engine.bare(2 * cycles)
    return cycles / (clock() - started)


def best_of(measures: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The best of many rounds of each; they take turns."""
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(ROUNDS)]
    return {name: max(each[name] for each in rounds) for name in measures}


def speeds(cycles: int) -> dict[str, float]:
    """Figures of CPU time: the engine with some numbers of NICs, beside the bare loop, and beside a NIC with an idle
    remote-memory adapter."""
    clock = time.process_time
    bare = busy_engine(1)
    adapter = busy_engine(1, config=lanai41().but(blocks=(Remote(),)))
    engines = {nics: busy_engine(nics) for nics in BUSY}
    measures = {
        f"engine.nic_cycles_per_second.{n}": partial(rate, engine, cycles, clock) for n, engine in engines.items()
    }
    measures["engine.bare_cycles_per_second"] = partial(bare_rate, bare, cycles, clock)
    measures["adapter"] = partial(rate, adapter, cycles, clock)
    figures = best_of(measures)
    for engine in (bare, adapter, *engines.values()):
        engine.close()
    for nics in BUSY:
        reached = figures[f"engine.nic_cycles_per_second.{nics}"]
        figures[f"engine.ratio.{nics}"] = reached / figures["engine.bare_cycles_per_second"]
    figures["engine.idle_adapter"] = figures.pop("adapter") / figures["engine.nic_cycles_per_second.1"]
    return figures


def two_threads(cycles: int) -> float:
    """Wall time of the bare loop for each of eight NICs over that of two threads for them all."""
    clock = time.perf_counter
    bare, engine = busy_engine(1), busy_engine(8, threads=2)
    best = best_of({"bare": partial(bare_rate, bare, cycles, clock), "threads": partial(rate, engine, cycles, clock)})
    bare.close()
    engine.close()
    return best["threads"] / best["bare"]


def entry_seconds(entries: int = 20_000) -> float:
    """Return the seconds that one call of the engine from Python takes when there is nothing to do."""
    engine = busy_engine(1)
    slot = engine.slot(0)
    started = time.perf_counter()
    for _ in range(entries):
        engine.run(slot)
    spent = (time.perf_counter() - started) / entries
    engine.close()
    return spent


def rank_seconds(program: str, ranks: int, folder: str) -> float:
    """Return the seconds of one round of a program of ranks; the best of a few runs."""
    result = f"{folder}/seconds"
    best = float("inf")
    for _ in range(STARTS):
        Job(("python", "-c", program, str(SWITCHES), result), ranks).run().check()
        with open(result) as file:
            best = min(best, float(file.read()))
    return best


def run(args: argparse.Namespace) -> dict[str, float]:
    import tempfile

    figures = rates(args.traffic)
    if args.only_traffic:
        return figures
    figures |= speeds(args.cycles)
    figures["engine.ratio_2_threads.8"] = two_threads(args.cycles)
    figures["engine.entry_us"] = 1e6 * entry_seconds()
    with tempfile.TemporaryDirectory() as folder:
        figures["engine.rank_switch_us"] = 1e6 * rank_seconds(PING_PONG, 2, folder)
        figures["engine.request_us"] = 1e6 * rank_seconds(REQUESTS, 1, folder)
    return figures
