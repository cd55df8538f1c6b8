"""The paper's figures drawn again."""

from collections.abc import Mapping

from ...drawing import Plot
from . import systems

Figures = Mapping[str, float]
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
        f"{systems.LONGEST:,} bytes in packets of {systems.EXPERIMENT_PACKET:,} by window, receiver shared",
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
