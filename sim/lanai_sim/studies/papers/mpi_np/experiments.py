"""The thesis's experiments, each a function from `quick` to figures. What they measure with is that
of `lanai bench p2p` and the sweeps.

"thesis" is the gateware with the thesis's policies: pages pinned and unpinned for every message
(NP-49), every message acknowledged (NP-16), small ones sent without credit (NP-24), a mark for each
page entry used (NP-46). "ours" is what the project has by default.
"""

from lanai_firmware.programs.mpi_np.plan import paper
from lanai_hdl.machine import host_offset
from lanai_host.config import pessimistic
from lanai_host.device import SendMode

from ...benches import p2p
from ...benches.p2p import contention, stages, traffic, ways
from ...benches.p2p.pair import Buffer, Setting, Side, play
from ...sweeps import cache, fairness, overlap, queues
from ...sweeps.point import nic_at
from ..measuring import Experiment, Figures
from . import constants

PAGE = 4096
BULK = (65536, 262144, 1048576)
FEW = (65536, 262144)
SETTLE = 20_000_000_000  # picoseconds after which what can move has moved


def thesis() -> Setting:
    return Setting(pessimistic(), paper().but(mark_entries=1))


def named(prefix: str, figures: Figures) -> Figures:
    return {f"{prefix}.{name.removeprefix('p2p.')}": value for name, value in figures.items()}


def thesis_traffic(quick: bool) -> Figures:
    sizes = (*p2p.SIZES, 8192, 12288, 32768, *(FEW if quick else BULK))
    return named("thesis", p2p.traffic_figures(thesis(), sizes, 1 if quick else constants.REPETITIONS))


def our_traffic(quick: bool) -> Figures:
    sizes = (*p2p.SIZES, *(FEW if quick else BULK))
    return named("ours", p2p.traffic_figures(Setting(), sizes, 1 if quick else constants.REPETITIONS))


def break_down(quick: bool) -> Figures:
    return named("ours", stages.figures(stages.cut(stages.watch(Setting()))))


def slowdown(quick: bool) -> Figures:
    return named("np", contention.figures(contention.speeds()))


def pio_against_dma(quick: bool) -> Figures:
    found = ways.measure(Setting(), p2p.WAY_SIZES, 1 if quick else 3)
    return named("ways", ways.figures(found))


def peaks(quick: bool) -> Figures:
    """Bandwidth by version: how many pages an entry has, whether entries are marked, whether pages
    stay pinned."""
    base = thesis()
    versions = {
        "first": base.but(host=base.host.but(pages_per_entry=1)),
        "second": base,
        "unmarked": base.but(mcp=base.mcp.but(mark_entries=0)),
        "kept": base.but(host=base.host.but(pinned_cache_pages=Setting().host.pinned_cache_pages)),
    }
    figures: Figures = {}
    for name, chosen in versions.items():
        for size, trip in traffic.trips(chosen, (16384, *(FEW if quick else BULK)), 1).items():
            figures[f"version.{name}.bandwidth_MBps.{size}"] = trip.rate(size)
        figures[f"version.{name}.bandwidth_MBps.peak"] = max(
            value for figure, value in figures.items() if figure.startswith(f"version.{name}.bandwidth")
        )
    return figures


def partial_batch(quick: bool) -> Figures:
    """What the next page costs, by how many there are already: the fifth and the ninth need another
    page-table entry."""
    found = traffic.trips(thesis(), [PAGE * pages for pages in range(1, 14)], 3)
    rises = {pages: found[PAGE * pages].one_way - found[PAGE * (pages - 1)].one_way for pages in range(4, 14)}
    begins = [rise for pages, rise in rises.items() if pages % 4 == 1]
    others = [rise for pages, rise in rises.items() if pages % 4 != 1]
    return {
        "batch.us_of_page_that_begins_an_entry": sum(begins) / len(begins),
        "batch.us_of_other_page": sum(others) / len(others),
        **{f"batch.latency_us.{size}": trip.one_way for size, trip in found.items()},
    }


def transfers(quick: bool) -> Figures:
    """How many host DMA transfers the sending NIC does for each further page, by version
    (NP-46)."""
    figures: Figures = {}
    done = host_offset("HDMA_DONE")
    for name, pages_per_entry in (("first", 1), ("second", 4)):
        base = thesis()

        async def run(side: Side) -> dict[int, int]:
            counts = {}
            for pages in (8, 16):
                buffer = Buffer(pages * PAGE)
                await side.meet()
                operation = await side.receive(buffer) if side.rank else None
                await side.meet()
                before = await side.bus.read(done)
                if operation is None:
                    operation = await side.send(buffer)
                await side.compute(SETTLE)
                counts[pages] = await side.bus.read(done) - before
                await side.finish(operation)
            return counts

        counts = play(base.but(host=base.host.but(pages_per_entry=pages_per_entry)), run)[0]
        figures[f"version.{name}.host_dmas_per_page"] = (counts[16] - counts[8]) / 8
    return figures


def cut_through(quick: bool) -> Figures:
    """One message at a time, with packets passed on as they come, and whole (NP-51)."""
    figures: Figures = {}
    for name, switch in (("on", 1), ("off", 0)):
        base = thesis()
        chosen = base.but(mcp=base.mcp.but(cut_through=switch))
        for size, trip in traffic.trips(chosen, (4, 2048, 4096, 8192, 16384, 65536, 262144), 1).items():
            figures[f"cut.{name}.latency_us.{size}"] = trip.one_way
            figures[f"cut.{name}.bandwidth_MBps.{size}"] = trip.rate(size)
    return figures


def message_table(quick: bool) -> Figures:
    """The message table on the NIC against the one on the host (NP-33)."""
    figures: Figures = {}
    for where in ("nic", "host"):
        for depth in (0, 8):
            point = {"queue": "posted", "matching": where, "depth": depth}
            for name, value in queues.measure(point).items():
                figures[f"table.{where}.{name}.{depth}"] = value
    return figures


def search(quick: bool) -> Figures:
    """Latency behind posted receives that do not match: linear in how many there are."""
    depths = (0, 8, 32) if quick else (0, 4, 8, 16, 24, 32)
    curve = {
        depth: queues.measure({"queue": "posted", "matching": "nic", "depth": depth})["latency_us"] for depth in depths
    }
    return {f"search.latency_us.{depth}": value for depth, value in curve.items()}


def clock_133(quick: bool) -> Figures:
    """NIC time with a processor of 133 MHz, and what latency gains, matched by the NIC and by the
    host."""
    fast = Setting(nic=nic_at(133))
    cut = stages.cut(stages.watch(fast))
    figures = {"clock.nic_us.133": cut.nic_send + cut.nic_receive}
    for name, chosen in (("33", Setting()), ("133", fast)):
        for where, on_host in (("nic", 0), ("host", 1)):
            host = chosen.host.but(host_matching=on_host)
            figures[f"clock.latency_us.{where}.{name}"] = traffic.trips(chosen.but(host=host), (4,), 3, trace=True)[
                4
            ].one_way
    return figures


def caching(quick: bool) -> Figures:
    """A 16 KB instruction cache, for a small message and for a page."""
    figures: Figures = {}
    for message in (4, PAGE):
        for name, value in cache.measure({"message": message, "cache": 16384}).items():
            figures[f"cache.{name}.{message}"] = value
    return figures


def overlapping(quick: bool) -> Figures:
    figures: Figures = {}
    for side in ("send", "receive"):
        for where in ("nic", "host"):
            point = {"side": side, "matching": where, "size": 65536}
            figures[f"overlap.hidden_percent.{side}.{where}"] = overlap.measure(point)["hidden_percent"]
    return figures


def special_sends(quick: bool) -> Figures:
    """Host work of a synchronous and a ready send by the NIC, and of a synchronous one that the
    hosts would do by an answer."""

    async def run(side: Side) -> Figures:
        figures: Figures = {}
        buffer, answer = Buffer(PAGE), Buffer(0)
        for name, mode in (
            ("standard", SendMode.STANDARD),
            ("synchronous", SendMode.SYNCHRONOUS),
            ("ready", SendMode.READY),
        ):
            for _ in range(2):  # the first one pins
                await side.meet()
                operation = await side.receive(buffer) if side.rank else None
                await side.meet()
                begun = side.now
                if operation is None:
                    operation = await side.send(buffer, mode=mode)
                placed = side.now
                await side.meet()
                there = side.now
                await side.finish(operation)
                figures[name] = (placed - begun + side.now - there) / 1e6
        await side.meet()
        begun = side.now
        if side.rank:
            await side.send(answer)
            figures["answer"] = (side.now - begun) / 1e6
        else:
            operation = await side.receive(answer)
            placed = side.now
            await side.meet()
            there = side.now
            await side.finish(operation)
            figures["answer"] = (placed - begun + side.now - there) / 1e6
            return figures
        await side.meet()
        return figures

    sender, receiver = play(Setting(), run)
    by_hosts = sender["standard"] + sender["answer"] + receiver["answer"]
    return {
        "special.host_us.standard": sender["standard"],
        "special.host_us.synchronous": sender["synchronous"],
        "special.host_us.ready": sender["ready"],
        "special.host_us.synchronous_by_hosts": by_hosts,
    }


def busy_channel(quick: bool) -> Figures:
    """Host overhead of small sends one right after the other, into one channel (NP-43)."""

    async def run(side: Side) -> list[float]:
        buffer, spent = Buffer(4), []
        posted = [await side.receive(buffer) for _ in range(16)] if side.rank else []
        await side.meet()
        sent = []
        for _ in range(0 if side.rank else 16):
            begun = side.now
            sent.append(await side.send(buffer))
            spent.append((side.now - begun) / 1e6)
        await side.finish(*posted, *sent)
        return spent

    spent = play(Setting(), run)[0]
    return {f"busy.send_overhead_us.{number}": value for number, value in enumerate(spent, 1)}


def independence(quick: bool) -> Figures:
    """Latency from one NIC to a second while its channel to a third is full (NP-07), and fairness
    over channels."""

    async def run(side: Side) -> float:
        buffer, jam = Buffer(4), Buffer(1024)
        await side.meet()
        stuck = [await side.send(jam, 2) for _ in range(64)] if side.rank == 0 else []
        waits = await side.receive(buffer, 0) if side.rank == 1 else None
        await side.meet()
        await side.compute(SETTLE)
        if side.rank == 0:
            side.stage.notes["began"] = side.now
            await side.finish(await side.send(buffer, 1))
        if waits is not None:
            await side.finish(waits)
        end = side.now
        await side.meet()
        if side.rank == 2:
            await side.finish(*[await side.receive(jam, 0) for _ in range(64)])
        await side.finish(*stuck)
        began: int = side.stage.notes["began"]
        return (end - began) / 1e6

    jammed = play(Setting(), run, fairness.switch(3))[1]
    fair = fairness.measure({"pattern": "in", "size": 16384, "peers": 2 if quick else 8})
    return {"channels.latency_us.beside_a_full_one": jammed, "channels.jain": fair["jain"]}


EXPERIMENTS = (
    Experiment("constants", "sizes and counts, from the declarations that firmware and driver read", constants.figures),
    Experiment("thesis", "latency, bandwidth, overhead by size (NP-B1..B4), the thesis's policies", thesis_traffic),
    Experiment("ours", "the same with the project's defaults", our_traffic),
    Experiment("break-down", "where the time of 4 bytes goes (NP-B5)", break_down),
    Experiment("slowdown", "the processor beside DMA (NP-B6)", slowdown),
    Experiment("pio-dma", "programmed I/O against DMA (NP-B7)", pio_against_dma),
    Experiment("versions", "first and second page table, marks, pinning (NP-45, NP-46, NP-49)", peaks),
    Experiment("cut-through", "packets passed on as they come, or whole (NP-51)", cut_through),
    Experiment("transfers", "host DMA transfers a page (NP-46)", transfers),
    Experiment("batch", "pages that do not fill an entry (NP-45)", partial_batch),
    Experiment("table", "message table on the NIC or on the host (NP-33)", message_table),
    Experiment("search", "searching a channel's messages (NP-34)", search),
    Experiment("clock", "a processor of 133 MHz", clock_133),
    Experiment("cache", "a 16 KB instruction cache", caching),
    Experiment("overlap", "computing while the NIC works (NP-01)", overlapping),
    Experiment("special", "synchronous and ready sends (NP-29)", special_sends),
    Experiment("busy", "small sends into a busy channel (NP-43)", busy_channel),
    Experiment("channels", "independence and fairness of channels (NP-07, NP-11)", independence),
)
