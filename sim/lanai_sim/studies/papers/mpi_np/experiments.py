"""The thesis's experiments, each a function from `quick` to figures. What they measure with is that
of `lanai dev bench p2p` and the sweeps.
"""

from ...benches import core, p2p
from ...benches.p2p import stages, traffic
from ...benches.p2p.pair import Setting
from ...sweeps import matching, patterns, processor
from ...sweeps.point import nic_at
from ..claims import Experiment, Figures
from . import host_work
from .host_work import PAGE, busy_channel, independence, small_sends, special_sends, thesis, transfers, waiting_sends

SEND_BUFFER = 16384  # bytes of each channel. The thesis tells only that 64 channels have at least 4.5 KB each
SEND_BUFFERS = (SEND_BUFFER, 131072)
BUFFERED = (4096, 16384, 65536, 262144)
BULK = (65536, 262144, 1048576)
FEW = (65536, 262144)
LONG_WINDOW = 8000  # slots of a waveform: slow firmware takes longer


def named(prefix: str, figures: Figures) -> Figures:
    return {f"{prefix}.{name.removeprefix('p2p.')}": value for name, value in figures.items()}


def thesis_traffic(quick: bool) -> Figures:
    sizes = (*p2p.SIZES, 8192, 12288, 32768, *(FEW if quick else BULK))
    return named("thesis", p2p.traffic_figures(thesis(), sizes, 1 if quick else host_work.REPETITIONS))


def our_traffic(quick: bool) -> Figures:
    sizes = (*p2p.SIZES, *(FEW if quick else BULK))
    return named("ours", p2p.traffic_figures(Setting(), sizes, 1 if quick else host_work.REPETITIONS))


def break_down(quick: bool) -> Figures:
    found: Figures = {}
    for name, setting in (("thesis", thesis()), ("ours", Setting())):
        found |= named(name, stages.figures(stages.cut(stages.watch(setting))))
    return found


def general_path(quick: bool) -> Figures:
    """The same without the straight paths of our firmware: each message takes the general one."""
    figures: Figures = {}
    for name, setting in (("thesis", thesis()), ("ours", Setting())):
        general = setting.but(mcp=setting.mcp.but(quick=0))
        parts = stages.cut(stages.watch(general))
        figures[f"general.{name}.nic_us"] = parts.nic_send + parts.nic_receive
        fast = stages.cut(stages.watch(general.but(nic=nic_at(133))))
        figures[f"general.{name}.nic_us.133"] = fast.nic_send + fast.nic_receive
        for size, trip in traffic.trips(general, (4, 65536), 1).items():
            figures[f"general.{name}.latency_us.{size}"] = trip.one_way
    return figures


def compiler(quick: bool) -> Figures:
    """The same general path from a compiler that does less: each function is called, or nothing is optimized at all."""
    figures: Figures = {}
    for effort in (1, 0):
        for name, setting in (("thesis", thesis()), ("ours", Setting())):
            slow = setting.but(mcp=setting.mcp.but(quick=0, optimize=effort))
            parts = stages.cut(stages.watch(slow, window=LONG_WINDOW))
            figures[f"compiler.{effort}.{name}.nic_us"] = parts.nic_send + parts.nic_receive
            figures[f"compiler.{effort}.{name}.nic_share_percent"] = parts.nic_share
            figures[f"compiler.{effort}.{name}.latency_us.4"] = traffic.trips(slow, (4,), 1)[4].one_way
        fast = stages.cut(stages.watch(slow.but(nic=nic_at(133)), window=LONG_WINDOW))
        figures[f"compiler.{effort}.ours.nic_us.133"] = fast.nic_send + fast.nic_receive
        base = thesis()
        for version, pages in (("first", 1), ("second", 4)):
            chosen = base.but(host=base.host.but(pages_per_entry=pages), mcp=base.mcp.but(quick=0, optimize=effort))
            for size, trip in traffic.trips(chosen, FEW, 1).items():
                figures[f"compiler.{effort}.{version}.bandwidth_MBps.{size}"] = trip.rate(size)
    return figures


def host_prices(quick: bool) -> Figures:
    """Four bytes on hosts whose accesses to the NIC, or whose calls of MPI, cost more."""
    base = thesis()
    nic, host = base.nic, base.host
    dearer = {
        "single_writes": base.but(nic=nic.but(pio_line=4)),
        "slow_bus": base.but(
            nic=nic.but(pio_read_setup=4 * nic.pio_read_setup, pio_write_setup=4 * nic.pio_write_setup)
        ),
        "calls": base.but(host=host.but(call=10 * host.call)),
    }
    figures: Figures = {}
    for name, chosen in dearer.items():
        trip = traffic.trips(chosen, (4,), 3)[4]
        figures[f"prices.{name}.trip_us.4"] = trip.one_way
        figures[f"prices.{name}.overhead_us.4"] = trip.send
    return figures


def slowdown(quick: bool) -> Figures:
    return named("np", core.figures(core.speeds()))


def pio_against_dma(quick: bool) -> Figures:
    base = thesis()
    kept = base.host.but(pinned_cache_pages=Setting().host.pinned_cache_pages)  # unless a way unpins
    found = traffic.measure(base.but(host=kept), p2p.WAY_SIZES, 1 if quick else 3)
    return named("ways", traffic.figures(found))


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
    """Measure the cost of the next page, by how many there are already: the fifth and the ninth need
    another page-table entry."""
    found = traffic.trips(thesis(), [PAGE * pages for pages in range(1, 14)], 3)
    rises = {pages: found[PAGE * pages].one_way - found[PAGE * (pages - 1)].one_way for pages in range(4, 14)}
    begins = [rise for pages, rise in rises.items() if pages % 4 == 1]
    others = [rise for pages, rise in rises.items() if pages % 4 != 1]
    return {
        "batch.us_of_page_that_begins_an_entry": sum(begins) / len(begins),
        "batch.us_of_other_page": sum(others) / len(others),
        **{f"batch.latency_us.{size}": trip.one_way for size, trip in found.items()},
    }


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
            for name, value in matching.measure_queues(point).items():
                figures[f"table.{where}.{name}.{depth}"] = value
    return figures


def search(quick: bool) -> Figures:
    """Latency behind posted receives that do not match: linear in how many there are."""
    depths = (0, 8, 32) if quick else (0, 4, 8, 16, 24, 32)
    curve = {
        depth: matching.measure_queues({"queue": "posted", "matching": "nic", "depth": depth})["latency_us"]
        for depth in depths
    }
    return {f"search.latency_us.{depth}": value for depth, value in curve.items()}


def clock_133(quick: bool) -> Figures:
    """NIC time with a processor of 133 MHz, and what latency gains, matched by the NIC and by the
    host."""
    fast = Setting(nic=nic_at(133))
    cut = stages.cut(stages.watch(fast))
    figures = {"clock.nic_us.133": cut.nic_send + cut.nic_receive}
    for name, chosen in (("33", Setting()), ("133", fast)):
        for where, on_host in (("nic", False), ("host", True)):
            host = chosen.host.but(host_matching=on_host)
            figures[f"clock.latency_us.{where}.{name}"] = traffic.trips(chosen.but(host=host), (4,), 3, trace=True)[
                4
            ].one_way
    return figures


def caching(quick: bool) -> Figures:
    """A 16 KB instruction cache, for a small message and for a page."""
    figures: Figures = {}
    for message in (4, PAGE):
        for name, value in processor.measure_cache({"message": message, "cache": 16384}).items():
            figures[f"cache.{name}.{message}"] = value
    return figures


def overlapping(quick: bool) -> Figures:
    figures: Figures = {}
    for side in ("send", "receive"):
        for where in ("nic", "host"):
            point = {"side": side, "matching": where, "size": 65536}
            figures[f"overlap.hidden_percent.{side}.{where}"] = patterns.measure_overlap(point)["hidden_percent"]
    return figures


def host_rules(quick: bool) -> Figures:
    """Rules of the thesis's hosts: a body is written only into an empty channel (NP-43), with it and without; and each
    request is placed under a semaphore (NP-54). Send buffers of channels (NP-04, NP-39). And all switches at once, for
    what the thesis's latency has."""
    base = thesis()
    figures = {
        f"rules.empty.{name.removeprefix('busy.')}": value for name, value in small_sends(pio_when_empty=True).items()
    }
    rules = {
        "none": base.but(host=base.host.but(pio_when_empty=False)),
        "empty": base,
        "semaphore": base.but(host=base.host.but(semaphore=True)),
        "all": base.but(
            host=base.host.but(semaphore=True),
            mcp=base.mcp.but(quick=0, cut_through=0, send_buffer=SEND_BUFFER),
        ),
    }
    for name, chosen in rules.items():
        trip = traffic.trips(chosen, (4,), 1)[4]
        figures[f"rules.{name}.trip_us.4"] = trip.one_way
        figures[f"rules.{name}.overhead_us.4"] = trip.send
    first = base.host.but(pages_per_entry=1)
    for name, mcp in (("on", base.mcp), ("off", base.mcp.but(cut_through=0))):
        for size, trip in traffic.trips(base.but(host=first, mcp=mcp), FEW, 1).items():
            figures[f"rules.first.cut_{name}.bandwidth_MBps.{size}"] = trip.rate(size)
    for bytes_each in SEND_BUFFERS:
        buffered = base.but(host=first, mcp=base.mcp.but(send_buffer=bytes_each))
        for size, trip in traffic.trips(buffered, FEW, 1).items():
            figures[f"rules.first.buffer_{bytes_each}.bandwidth_MBps.{size}"] = trip.rate(size)
    for name, bytes_each in (("off", 0), ("on", SEND_BUFFER)):
        buffered = base.but(mcp=base.mcp.but(send_buffer=bytes_each))
        figures |= {f"rules.buffer.{name}.{key}": value for key, value in waiting_sends(buffered).items()}
        for size, trip in traffic.trips(buffered, BUFFERED, 1).items():
            figures[f"rules.buffer.{name}.bandwidth_MBps.{size}"] = trip.rate(size)
    return figures


EXPERIMENTS = (
    Experiment("constants", "sizes and counts, from the declarations that firmware and driver read", host_work.figures),
    Experiment("thesis", "latency, bandwidth, overhead by size (NP-B1..B4), the thesis's policies", thesis_traffic),
    Experiment("ours", "the same with the project's defaults", our_traffic),
    Experiment("break-down", "where the time of 4 bytes goes (NP-B5)", break_down),
    Experiment("general-path", "4 bytes and 64 KB without our firmware's straight paths", general_path),
    Experiment("compiler", "the general path from a compiler that does less", compiler),
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
    Experiment("thin", "BIP's firmware on the same NICs and hosts: thin or thick", host_work.measure),
    Experiment("special", "synchronous and ready sends (NP-29)", special_sends),
    Experiment("busy", "small sends into a busy channel (NP-43)", busy_channel),
    Experiment("host-rules", "rules of the thesis's hosts and its send buffers (NP-39, NP-43, NP-54)", host_rules),
    Experiment("host-prices", "4 bytes on hosts whose accesses to the NIC or calls cost more", host_prices),
    Experiment("channels", "independence and fairness of channels (NP-07, NP-11)", independence),
)
