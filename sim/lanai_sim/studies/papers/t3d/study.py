"""The study of the T3D: what its claims' answers compute, and the paper's figures drawn again."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lanai_host.config import alpha21064
from lanai_host.stacks.t3d.heap import LONG, SHORT, WORD, HeapLayout, T3dOptions, t3d

from ....job.job import Job
from ....machine.machine import Machine
from ....machine.presets import t3d_shell
from ...benches.p2p.plots import by_size
from ...drawing import Plot
from ...remote_hosts import adapter_of
from ..claims import Experiment, Programs
from ..studies import study
from ..verdicts import Computed, Figures
from . import programs

# The paper's experiments, each a function from `quick` to figures:
#
# programs run with the presets of the T3D, whose shell puts. The T3E, and the header whose first line is seen
# before its second, are with puts by firmware: the shell keeps the order of puts.

# The constants that the paper names, as ours are: read from what the device itself reads.

LATENCY_SIZES = range(0, 1025, 32)
MEDIUM_SIZES = range(10_000, 200_001, 10_000)
LARGE_SIZES = range(1_000_000, 5_000_001, 1_000_000)
# A k is taken as 1000 and a megabyte as 10^6 (T3-G6).
RANKS = 2
MOST = 100_000  # bytes of the longest put and get without MPI
TORUS = "torus:4x4x4"


def figures(quick: bool) -> dict[str, float]:
    layout = HeapLayout(RANKS, t3d())
    return {
        "design.slots_per_pair": (layout.slot(1) - layout.slot(0)) / layout.slot_size,
        "design.send_levels": len({SHORT, LONG}),
        "design.alignment": t3d().alignment,
        "design.alignment_first": T3dOptions(alignment=8).alignment,
        "design.transfer_bits": 8 * WORD.size,
        "design.processors": RANKS,
        "design.nodes": adapter_of(t3d_shell()).peers,
    }


RUNS = Programs(programs, Job((), 2, "t3d", Machine("t3d_shell", host="alpha21064")))
BY_FIRMWARE = Programs(programs, Job((), 2, "t3d", Machine("t3d", host="alpha21064")))
T3E = Programs(programs, Job((), 4, "t3d", Machine("t3e")))  # the paper says nothing of its speed
CHOSEN = ("post", "poll", "match", "copy", "complete", "address_check", "pio_write", "pio_read")  # prices of the host
REORDER = "reorder * rate=0.2 seed=1 by=20us"
FENCED, UNFENCED = 8334, 50  # rounds of 12 messages
ROUNDS = 1  # mpptest's default number of rounds is not in the paper; simulated rounds are all alike
MEDIUM_QUICK = (10_000, 30_000, 100_000, 200_000)


def half_trips(sizes: Sequence[int], off: int = 0, **changes: Any) -> dict[int, float]:
    """Half a round trip in microseconds, by size. `changes`: of the job."""
    found = RUNS.lines("mpptest", ",".join(map(str, sizes)), ROUNDS, off, **changes)
    return {int(size): time for size, time in found.items()}


def latency(quick: bool) -> dict[str, float]:
    sizes = (0, 32, 512, 1024) if quick else tuple(LATENCY_SIZES)
    return {f"latency_us.{size}": time for size, time in half_trips(sizes).items()}


def medium(quick: bool) -> dict[str, float]:
    return _bandwidths(MEDIUM_QUICK if quick else tuple(MEDIUM_SIZES))


def large(quick: bool) -> dict[str, float]:
    return _bandwidths((1_000_000,) if quick else tuple(LARGE_SIZES))


def _bandwidths(sizes: Sequence[int]) -> dict[str, float]:
    found: dict[str, float] = {}
    for size, time in half_trips(sizes).items():
        found |= {f"time_us.{size}": time, f"bandwidth_MBps.{size}": size / time}
    return found


def remote_memory(quick: bool) -> dict[str, float]:
    """Put, get, swap and add without MPI."""
    sizes = (4, MOST) if quick else (4, 2048, MOST)
    found: dict[str, float] = {}
    for name, time in RUNS.lines("remote_memory", ",".join(map(str, sizes))).items():
        what, size = name.split()
        found[f"{what}_us.{size}"] = time
        if int(size) > 4:
            found[f"{what}_MBps.{size}"] = int(size) / time
    return found | {f"{what}_MBps": found[f"{what}_MBps.{MOST}"] for what in ("put", "get")}


def choices(quick: bool) -> dict[str, float]:
    """The host's prices that are neither known nor fitted, doubled."""
    host = alpha21064()
    twice = host.but(**{name: 2 * getattr(host, name) for name in CHOSEN})
    times = half_trips((0, 1024, 100_000), host=twice)
    found = RUNS.lines("remote_memory", str(MOST), host=twice)
    return {
        **{f"choices.latency_us.{size}": times[size] for size in (0, 1024)},
        "choices.bandwidth_MBps.100000": 100_000 / times[100_000],
        **{f"choices.{what}_MBps": MOST / found[f"{what} {MOST}"] for what in ("put", "get")},
    }


def packets(quick: bool) -> dict[str, float]:
    """Bandwidth of gets whose packets ask for more bytes; none with `quick`."""
    found = {}
    for size in () if quick else (16, 32):
        nic = t3d_shell().but(blocks=(replace(adapter_of(t3d_shell()), read_bytes=size),))
        found[f"packets.get_MBps.{size}"] = MOST / RUNS.lines("remote_memory", str(MOST), nic=nic)[f"get {MOST}"]
    return found


def windows(quick: bool) -> dict[str, float]:
    """Return the bandwidth of a long message whose receiver answers for each page; nothing with `quick`."""
    size = 1_000_000
    return {} if quick else {"windows.bandwidth_MBps": size / half_trips((size,), options={"reply_pages": 1})[size]}


def alignment(quick: bool) -> dict[str, float]:
    """Messages whose buffers are off by one byte, and those of an odd length (T3-21)."""
    whole, off = half_trips((512, 100_000)), half_trips((512, 100_000), off=1)
    odd = half_trips((100_001,))
    return {
        **{f"aligned_us.{size}": time for size, time in whole.items()},
        **{f"misaligned_us.{size}": time for size, time in off.items()},
        "odd_us.100001": odd[100_001],
    }


def ready(quick: bool) -> dict[str, float]:
    """Standard and ready sends to receives that are posted (T3-13)."""
    return {f"mode.{name}": time for name, time in RUNS.lines("modes").items()}


def versions(quick: bool) -> dict[str, float]:
    """The earlier versions of long sends, and the status at the front of the header (T3-08, T3-15)."""
    late = "delay * rate=0.3 seed=2 by=20us"
    return {
        "version.queue.completes": _completes(RUNS, "both_ways", unfinished="queue"),
        "version.late.completes": _completes(RUNS, "both_ways", unfinished="late"),
        "version.status_last.completes": _completes(BY_FIRMWARE, "exchange", late, status="last"),
        "version.status_first.completes": _completes(BY_FIRMWARE, "exchange", late, status="first"),
    }


def _completes(runs: Programs, program: str, *faults: str, **options: str) -> float:
    return float(runs.run(program, options=options, faults=faults).ok)


def t3e(quick: bool) -> dict[str, float]:
    """Messages of 4 ranks to each other with wrong bytes, where the network reorders packets, with
    fences and without (T3-24)."""
    figures: dict[str, float] = {}
    for name, fence, rounds in (("fenced", 1, UNFENCED if quick else FENCED), ("bare", 0, UNFENCED)):
        options = {"preset": "t3e", "fence": fence}
        found = T3E.lines("crossing", rounds, 100, options=options, faults=(REORDER,))
        for what in ("messages", "wrong"):
            figures[f"t3e.{name}.{what}"] = sum(value for key, value in found.items() if key.endswith(f".{what}"))
    return figures


def validation(quick: bool) -> dict[str, float]:
    """A message to memory that its sender has, that it must get first, and without the check (T3-18)."""
    times = {
        name: RUNS.lines("first_message", options={"private": 4096, "validation": how})
        for name, how in (("extends", "extend"), ("unchecked", "none"))
    }
    return {f"validation.{name}.{which}_us": value for name, found in times.items() for which, value in found.items()}


def torus(quick: bool) -> dict[str, float]:
    """All to all on the nodes of a torus; none with `quick`."""
    if quick:
        return {}
    return {f"torus.{name}": value for name, value in RUNS.lines("all_to_all", 256, fabric=TORUS, ranks=64).items()}


EXPERIMENTS = (
    Experiment("constants", "sizes and counts, from the declarations that the device reads", figures),
    Experiment("latency", "mpptest, 0 to 1024 bytes (T3-B1, figure 6)", latency),
    Experiment("medium", "mpptest, 10k to 200k (T3-B1, figure 7)", medium),
    Experiment("large", "mpptest, 1 to 5 MB (T3-B1, figure 8)", large),
    Experiment("remote", "put, get, swap and add without MPI (T3-01)", remote_memory),
    Experiment("choices", "the host's prices that are choices, doubled", choices),
    Experiment("packets", "gets whose packets ask for more bytes", packets),
    Experiment("windows", "a long message with an answer for each page (T3-10)", windows),
    Experiment("alignment", "buffers that puts cannot move (T3-21)", alignment),
    Experiment("ready", "standard and ready sends (T3-13)", ready),
    Experiment("versions", "the first and the second version of the device (T3-08, T3-15)", versions),
    Experiment("validation", "what a first message costs where the sender must extend its memory (T3-18)", validation),
    Experiment("t3e", "a network that reorders, with fences and without (T3-24)", t3e),
    Experiment("torus", "all to all on 4x4x4 nodes", torus),
)


def plateau(figures: Figures) -> float:
    """Bandwidth of the longest message that was measured, of 1 MB or more."""
    sizes = [int(name.rsplit(".", 1)[1]) for name in figures if name.startswith("bandwidth_MBps.")]
    if not sizes or max(sizes) < 1_000_000:
        raise KeyError("bandwidth_MBps of 1 MB")
    return figures[f"bandwidth_MBps.{max(sizes)}"]


def _packet(figures: Figures, size: int) -> float:
    """Microseconds of a packet of a get."""
    return size / figures["get_MBps" if size == 8 else f"packets.get_MBps.{size}"]


def _misaligned(figures: Figures) -> float:
    return figures["misaligned_us.100000"] / figures["aligned_us.100000"]


def _extension(figures: Figures) -> float:
    return figures["validation.extends.first_us"] - figures["validation.unchecked.first_us"]


def _check(figures: Figures) -> float:
    return figures["validation.extends.second_us"] - figures["validation.unchecked.second_us"]


COMPUTED: Computed = {
    "s2.put_vs_get": lambda f: f["put_MBps"] / f["get_MBps"],
    "s3_4.misaligned_penalty": lambda f: _misaligned(f) > 1.2,
    "s4.large_bandwidth": plateau,
    "s4.share_of_peak": lambda f: 100 * plateau(f) / f["put_MBps"],
    "s3_1.ready_no_gain": lambda f: abs(f["mode.ready"] / f["mode.standard"] - 1) < 0.02,
    "s5.flag_last": lambda f: f["version.status_last.completes"] == 1 and f["version.status_first.completes"] == 0,
    "s5.wait_progress": lambda f: f["version.queue.completes"] == 1 and f["version.late.completes"] == 0,
    "s3_3.validation_cost": lambda f: _extension(f) > 10 * max(_check(f), 0.1),
    "s6.t3e_fence": lambda f: f["t3e.fenced.wrong"] == 0 < f["t3e.bare.wrong"],
    "packet_8": lambda f: _packet(f, 8),
    "packet_16": lambda f: _packet(f, 16),
    "packet_32": lambda f: _packet(f, 32),
    "windows": lambda f: 100 * f["windows.bandwidth_MBps"] / f["put_MBps"],
    "misaligned": _misaligned,
    "check": _check,
    "extension": _extension,
}


# The paper's figures drawn again. It prints no latency (T3-G2).


LEVEL = (100_000, 200_000)  # sizes at which the paper's text gives a bandwidth
LARGE = (1_000_000, 5_000_000)
START_US, RATE = 65, 107  # what the two bandwidths of the paper say together: T(n) = 65 us + n / 107


def of(figures: Figures) -> dict[str, Plot]:
    """By file name, in the order of the paper."""
    rates = by_size(figures, "bandwidth_MBps")
    medium = {size: rate for size, rate in rates.items() if size < 1_000_000}
    found = {
        "fig6-latency": Plot(
            "Small message latency (paper fig. 6)", "bytes", "us one way", {"here": by_size(figures, "latency_us")}
        ),
        "fig7-medium": Plot(
            "Medium message bandwidth (paper fig. 7)",
            "bytes",
            "MB/s",
            {"here": medium, "n / (65 us + n / 107 MB/s)": {size: size / (START_US + size / RATE) for size in medium}},
            points={"paper": dict.fromkeys(LEVEL, 100), "CRI/EPCC, in the paper": dict.fromkeys(LEVEL, 29)},
        ),
        "fig8-large": Plot(
            "Large message bandwidth (paper fig. 8)",
            "bytes",
            "MB/s",
            {"here": {size: rate for size, rate in rates.items() if size >= 1_000_000}},
            points={"paper": dict.fromkeys(LARGE, 107), "CRI/EPCC, in the paper": dict.fromkeys(LARGE, 30)},
        ),
    }
    return {name: plot for name, plot in found.items() if any(plot.lines.values())}


STUDY = study("t3d", sys.modules[__name__], COMPUTED, of)
