"""The study of the CCU MPI: what its claims' answers compute, and the paper's figures drawn again."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from lanai_firmware.programs.ccu.layout import ENTRIES

from ...drawing import Plot
from ..studies import study
from ..verdicts import ByShape, Computed, Figures
from . import experiments
from .experiments import EXPERIMENT_PACKET, FULL_PACKET, NODES, ONE_PACKET, OURS

OTHERS = ("lam", "mpich")
COLLECTIVES = ("gather", "scatter", "reduce", "allgather", "alltoall", "allreduce", "reduce_scatter", "scan")


def mbits(size: int) -> Callable[[Figures], float]:
    """Bandwidth of PingPong."""
    return lambda f: 8 * size / f[f"ccu.pingpong_us.{size}"]


def sizes(figures: Figures, pattern: str) -> list[int]:
    """Measured with our system. KeyError if none is."""
    begin = f"ccu.{pattern}_us."
    found = sorted(int(name.removeprefix(begin)) for name in figures if name.startswith(begin))
    if not found:
        raise KeyError(begin)
    return found


def _longer_is_better(figures: Figures) -> bool:
    """No size is slower than a shorter one by more than a hundredth."""
    rates = [mbits(size)(figures) for size in sizes(figures, "pingpong")]
    return all(longer >= 0.99 * shorter for shorter, longer in pairwise(rates))


def lead(figures: Figures, pattern: str) -> float:
    """The smallest of the others' times over ours, over all sizes."""
    return min(
        figures[f"{other}.{pattern}_us.{size}"] / figures[f"ccu.{pattern}_us.{size}"]
        for other in OTHERS
        for size in sizes(figures, pattern)
    )


def least(figures: Figures, patterns: Sequence[str]) -> float:
    """The smallest lead over all of some patterns."""
    return min(lead(figures, pattern) for pattern in patterns)


def over(figures: Figures, other: str, size: int) -> float:
    """The time of a stand-in over ours, one way again and again."""
    return figures[f"{other}.ping_us.{size}"] / figures[f"ccu.ping_us.{size}"]


def over_mpich(figures: Figures) -> float:
    """The smallest over all sizes."""
    return min(over(figures, "mpich", size) for size in sizes(figures, "ping"))


def ratios(figures: Figures, other: str) -> str:
    return ", ".join(f"{size} bytes: {over(figures, other, size):.2f}" for size in sizes(figures, "ping"))


def by_window(figures: Figures, choice: str = "stream") -> dict[int, float]:
    """Microseconds by window in the experiment on its size."""
    begin = f"window.{choice}_us."
    found = {int(name.removeprefix(begin)): time for name, time in figures.items() if name.startswith(begin)}
    if not found:
        raise KeyError(begin)
    return found


PAPERS_RULE = "every_25"  # the experiment with the paper's rule for acknowledgements; quick runs have it not


def best_window(figures: Figures, choice: str = "stream") -> int:
    """The best if a window is acknowledged as a whole, or in the experiment `choice`."""
    times = by_window(figures, choice)
    return min(times, key=lambda window: (times[window], window))


def _papers_best(figures: Figures) -> int:
    """The best window by the paper's rule; in a quick run, if a window is acknowledged as a whole."""
    return best_window(figures, PAPERS_RULE if f"window.{PAPERS_RULE}_us.30" in figures else "stream")


def best_by_choice(figures: Figures) -> str:
    """The best window if a window is acknowledged as a whole, by the time slices."""
    choices = {"45 and 60 ms": "stream", "20 ms each": "20_20", "100 and 60 ms": "100_60"}
    found = {label: name for label, name in choices.items() if f"window.{name}_us.30" in figures}
    if not found:
        raise KeyError("window")
    return ", ".join(f"{best_window(figures, name)} ({label})" for label, name in found.items())


def most_resent(figures: Figures) -> float:
    """With the largest window."""
    return figures[f"window.resent.{max(by_window(figures))}"]


def overlap(figures: Figures) -> float:
    """The time of 16 messages that wait for each other, over that of their bytes in one message."""
    return 16 * figures["ccu.pingpong_us.1000"] / figures["ccu.pingpong_us.16000"]


def gain(figures: Figures, way: str = "linear", size: int = ONE_PACKET) -> float:
    """The time of a broadcast without hardware broadcast, over that with it. `way`: `linear`, by a message to each
    rank, or `unicast`, by one message that the daemon sends in a packet for each node."""
    return figures[f"{way}.bcast_us.{size}"] / figures[f"ccu.bcast_us.{size}"]


def bcast_lead(figures: Figures) -> float:
    """The smallest lead of a broadcast, over the other ways and the other systems."""
    return min(gain(figures), gain(figures, "unicast"), lead(figures, "bcast"))


def deviates_least(figures: Figures) -> bool:
    """The times of our processes deviate less than those of the others at every size."""
    return all(
        figures[f"ccu.bitonic_deviation_us.{size}"] <= figures[f"{other}.bitonic_deviation_us.{size}"]
        for other in OTHERS
        for size in sizes(figures, "bitonic")
    )


def deviations(figures: Figures) -> str:
    """Return the deviations of all systems at the largest size."""
    size = sizes(figures, "bitonic")[-1]
    systems_of = ("ccu", *OTHERS)
    return ", ".join(f"{name} {figures[f'{name}.bitonic_deviation_us.{size}']:,.0f} us" for name in systems_of)


def colliding(figures: Figures) -> str:
    """The others' times over ours on a wire with collisions, as far as they were measured."""
    begin = "colliding.ccu."
    found = [name.removeprefix(begin) for name in figures if name.startswith(begin) and "_us." in name]
    words = (
        f"{name.partition('_us.')[0]} "
        + " and ".join(f"{figures[f'colliding.{other}.{name}'] / figures[begin + name]:.2f}" for other in OTHERS)
        for name in found
    )
    return f"; on a wire with collisions, 1,000 bytes, LAM's and MPICH's over ours: {', '.join(words)}" if found else ""


def losing(figures: Figures) -> str:
    """The others' times over ours on a wire with collisions and loss, as far as they were measured."""
    begin, words = "losing.", []
    for name in sorted(name for name in figures if name.startswith(begin) and ".ccu." in name and "_us." in name):
        loss, _, what = name.removeprefix(begin).split(".", 2)
        others = " and ".join(f"{figures[f'{begin}{loss}.{other}.{what}'] / figures[name]:.2f}" for other in OTHERS)
        words.append(f"{what.partition('_us.')[0]} {others} ({loss} % lost)")
    return f"; with collisions and loss: {', '.join(words)}" if words else ""


def leads(figures: Figures, patterns: Sequence[str]) -> str:
    return ", ".join(f"{pattern}: {lead(figures, pattern):.2f} times ours at least" for pattern in patterns)


def never_behind(*patterns: str) -> ByShape:
    """Ours is ahead of the others, or where it is least ahead nobody is."""
    return ByShape(lambda f: least(f, patterns) > 1, lambda f: leads(f, patterns), lead=lambda f: least(f, patterns))


def _constant(value: float, figures: Figures) -> float:
    """A number of the paper's design, as it is here."""
    return value


DESIGN = {
    "s3.packet": OURS.packet,
    "s3.window": OURS.window,
    "s3.ack_every": OURS.ack_every,
    "s4.buffer_entries": int(ENTRIES),
    "s5_3.network": experiments.NIC.link_kbytes * 8 / 1000,
    "s3.system_buffer": OURS.system_buffer,
    "s3.experiment_packet": EXPERIMENT_PACKET,
    "s7.cannon_messages": 2,
}
COMPUTED: Computed = {name: partial(_constant, value) for name, value in DESIGN.items()} | {
    "s3.best_window": _papers_best,
    "best_by_choice": best_by_choice,
    "s8.three_causes": lambda f: most_resent(f) > 0 and overlap(f) > 1.1 and gain(f) > 1.1,
    "most_resent": most_resent,
    "best_resent": lambda f: f[f"window.resent.{best_window(f)}"],
    "overlap": overlap,
    "gain": gain,
    "full_gain": lambda f: gain(f, size=FULL_PACKET),
    "unicast_gain": lambda f: gain(f, "unicast"),
    "full_unicast_gain": lambda f: gain(f, "unicast", FULL_PACKET),
    "s6.workstations": lambda f: NODES if sizes(f, "gather") else 0,
    "s7.bitonic_nodes": lambda f: NODES if sizes(f, "bitonic") else 0,
    "s5_3.bw_8000": mbits(8000),
    "s5_3.bw_16000": mbits(16_000),
    "s5_3.longer_better": ByShape(
        _longer_is_better,
        lambda f: ", ".join(f"{size} bytes: {mbits(size)(f):.2f} Mbit/s" for size in sizes(f, "pingpong")),
    ),
    "s5_3.ping_vs_mpich": ByShape(lambda f: over_mpich(f) > 1, lambda f: ratios(f, "mpich"), lead=over_mpich),
    "s5_3.ping_vs_lam_window": ByShape(
        lambda f: all((over(f, "lam", size) <= 1) == (6000 <= size <= 8000) for size in sizes(f, "ping")),
        lambda f: ratios(f, "lam"),
    ),
    "s5_3.pingpong_exchange": never_behind("pingpong", "exchange"),
    "s6_1.bcast_order": ByShape(lambda f: bcast_lead(f) > 1, lead=bcast_lead),
    "s6.collectives_better": ByShape(
        lambda f: least(f, COLLECTIVES) > 1,
        lambda f: leads(f, COLLECTIVES) + colliding(f) + losing(f),
        lead=lambda f: least(f, COLLECTIVES),
    ),
    "s7.bitonic_best": ByShape(
        lambda f: lead(f, "bitonic") > 1 and deviates_least(f),
        lead=lambda f: lead(f, "bitonic") if deviates_least(f) else 0.0,
    ),
    "bitonic_lead": lambda f: lead(f, "bitonic"),
    "deviations": deviations,
    "s7.cannon_best": never_behind("cannon"),
    "s7.cannon_nodes": lambda f: 9 if sizes(f, "cannon") else 0,
}


# The paper's figures drawn again.

LABELS = {
    "ccu": "the daemon",
    "unicast": "the daemon, a packet for each node",
    "linear": "the daemon, a message to each rank",
    "lam": "stand-in for LAM",
    "mpich": "stand-in for MPICH",
}
TITLES = {
    "pingpong": "PingPong (figures 2 and 3)",
    "ping": "Ping",
    "exchange": "Exchange",
    "bcast": "MPI_Bcast on 8 nodes (figure 5)",
    "gather": "MPI_Gather on 8 nodes (figure 6)",
    "scatter": "MPI_Scatter on 8 nodes (figure 7)",
    "reduce": "MPI_Reduce on 8 nodes (figure 8)",
    "allgather": "MPI_Allgather on 8 nodes (figure 11)",
    "alltoall": "MPI_Alltoall on 8 nodes (figure 12)",
    "allreduce": "MPI_Allreduce on 8 nodes (figure 13)",
    "reduce_scatter": "MPI_Reduce_scatter on 8 nodes (figure 14)",
    "scan": "MPI_Scan on 8 nodes (figure 15)",
    "bitonic": "Bitonic sort on 8 nodes (figure 9)",
    "cannon": "Cannon's product on 9 nodes (figure 10)",
}
INTEGERS = ("reduce", "allreduce", "reduce_scatter", "scan", "bitonic")
SIZES = dict.fromkeys(INTEGERS, "integers of a process") | {"cannon": "rows of a block"}
WINDOWS = {
    "stream": "45 ms for the daemon, 60 ms for others",
    "20_20": "20 ms each",
    "100_60": "100 and 60 ms",
    "every_25": "45 and 60 ms, each 25 packets acknowledged",
}
RATES = {8000.0: 6.4, 16_000.0: 7.0}  # Mbit/s in the paper's text, by size
PUBLISHED = {"pingpong": {"paper": {size: size * 8 / 1000 / rate for size, rate in RATES.items()}}}


def by_size(figures: Figures, prefix: str) -> dict[float, float]:
    """Figures `prefix.SIZE`, in milliseconds."""
    begin = f"{prefix}."
    rows = {int(name.removeprefix(begin)): time for name, time in figures.items() if name.startswith(begin)}
    return {size: time / 1000 for size, time in sorted(rows.items())}


def of(figures: Figures) -> dict[str, Plot]:
    """By file name."""
    found = {}
    for pattern, title in TITLES.items():
        lines = {label: by_size(figures, f"{system}.{pattern}_us") for system, label in LABELS.items()}
        found[pattern.replace("_", "-")] = Plot(
            title, SIZES.get(pattern, "bytes"), "ms", {k: v for k, v in lines.items() if v}, PUBLISHED.get(pattern, {})
        )
    found["bandwidth"] = Plot(
        "Bandwidth of PingPong (figure 4)",
        "bytes",
        "Mbit/s",
        {
            label: {size: size * 8 / 1000 / time for size, time in by_size(figures, f"{system}.pingpong_us").items()}
            for system, label in LABELS.items()
            if by_size(figures, f"{system}.pingpong_us")
        },
        points={"paper": RATES},
    )
    found["window"] = Plot(
        f"{experiments.LONGEST:,} bytes in packets of {experiments.EXPERIMENT_PACKET:,} by window, receiver shared",
        "packets",
        "ms",
        {
            label: by_size(figures, f"window.{name}_us")
            for name, label in WINDOWS.items()
            if by_size(figures, f"window.{name}_us")
        },
    )
    found["stall"] = Plot(
        "A long message by packets for each acknowledgement, window 25",
        "packets",
        "ms",
        {"one way": by_size(figures, "stall.stream_us")},
    )
    found["linear"] = Plot(
        "MPI_Reduce of 250 integers by nodes", "nodes", "ms", {"the daemon": by_size(figures, "ccu.reduce_us_of_nodes")}
    )
    return {name: plot for name, plot in found.items() if any(plot.lines.values())}


STUDY = study("ccu", experiments, COMPUTED, of)
