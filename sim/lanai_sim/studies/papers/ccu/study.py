"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Mapping

from ...drawing import Plot
from .. import verdicts
from ..page import Frame, Section
from ..studies import Study
from . import answers, experiments

# The paper's figures, in its order. Of most curves our sources have no numbers, only what the text says of them.

SECTIONS = (
    Section(
        "Figures 2 to 4: point to point",
        plots={
            "pingpong": (
                "One way of a message that bounces between two nodes, with the two times that the paper's bandwidths "
                "imply. Ours is fitted on these two; what lies between is simulated."
            ),
            "bandwidth": (
                "The same as bandwidth, with the two numbers that the paper prints. It grows with the size, since the "
                "daemons and the wire work on different packets."
            ),
            "ping": (
                "One node keeps sending to the other. The paper has LAM slightly ahead from 6,000 to 8,000 bytes only; "
                "here its stand-in sends these as one datagram."
            ),
            "exchange": ("Both nodes send, then receive. The paper has ours ahead of LAM and MPICH at every size."),
        },
    ),
    Section(
        "Figure 5: broadcast",
        plots={
            "bcast": (
                "A broadcast to seven nodes: until the last of them has it. By hardware it is one packet on the "
                "wire; the other two lines of ours are without that, by a packet or a message for each node."
            )
        },
    ),
    Section(
        "Figures 6 to 8 and 11 to 15: collective operations",
        "All are on eight nodes. The paper's text has ours ahead in all of them; here the "
        "wire is full where many packets of 1,000 bytes want it at once, and then broadcast saves nothing.",
        plots={
            "gather": "Until the root has all parts. Seven messages meet at one daemon, whose work decides.",
            "scatter": "Until the last process has its part. Short vectors are broadcast whole, long ones go in parts.",
            "reduce": "A sum of integers at the root. It receives from all, one after the other.",
            "allgather": "Each process gets the parts of all. By broadcast each part is on the wire once.",
            "alltoall": "Each process has a part for each other one. No part is for all, so broadcast cannot help.",
            "allreduce": "A sum of integers at all. It is a reduce and a broadcast.",
            "reduce-scatter": "A sum of which each process gets a part. It is a reduce and a scatter.",
            "scan": "Each process gets the sum up to its own. Each waits for the one before it.",
        },
    ),
    Section(
        "Figures 9 and 10: programs",
        plots={
            "bitonic": (
                "Bitonic merge sort on eight nodes: the slowest process, by the integers of each. Processors compute "
                "in no time, so this is communication only."
            ),
            "cannon": (
                "Cannon's matrix product on nine nodes, by the rows of a block. Each step shifts a block of A and "
                "one of B."
            ),
        },
    ),
    Section(
        "Windows and acknowledgements",
        plots={
            "window": (
                "A long message through SunOS's buffer of 32 KB while another process has the receiver's workstation "
                "at times. The paper's best window is 30; which one is best here depends on the time slices and the "
                "rule for acknowledgements, which were chosen."
            ),
            "stall": (
                "A long message with a window of 25, by the packets for which the receiver acknowledges once. The "
                "paper acknowledges 25 at once, so that the sender waits at the end of each window."
            ),
            "linear": ("A reduce by the number of nodes. The root receives from all, so the time grows in proportion."),
        },
    ),
)


# The paper's figures drawn again.

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


FRAME = Frame(
    title="The CCU MPI, measured again",
    believe=("how the window, the acknowledgements and the broadcast of a packet act."),
    doubt=(
        "that it beats LAM or MPICH: both are this daemon with other rules. `ack_timer` of 50 ms, which all "
        "figures have, is ours."
    ),
    open=("LAM and MPICH themselves, and how the paper's experiment on the window was made."),
    intro=(
        "The MPI of Chung Cheng University (Y.-Z. Chang, K.-S. Ding and J.-J. Tsay, 1996) runs a multicast "
        "daemon on each workstation of an Ethernet. This page runs its experiments on [the device "
        "`ccu`](../reference/ccu.md) and sets what it published beside what comes out. `lanai paper ccu` "
        "writes it.\n\n"
        "Time is simulated: a broadcast wire of 10 Mbit/s (`--fabric ethernet`), workstations whose daemon is a "
        "slow processor (`--nic ethernet10`) that spends `work` on each packet beyond its instructions, hosts of "
        "the preset `sparc_sunos`. Two constants are fitted: `work` and the host's price of a call, on the two "
        "bandwidths that the text prints. The curves of the paper's figures are not among our sources.\n\n"
        "LAM and MPICH are not built. Their stand-ins are the same daemon without broadcast: for LAM it sends "
        "datagrams of up to 8,192 bytes and waits for the acknowledgement of each, for MPICH it has a window of 3 "
        "packets. NICs take turns on the wire but in the experiment `colliding`. Processors compute in no time.\n\n"
        "A time counts from when the last of the processes that send first has left the barrier before it, and "
        "nothing else is on the wire until all are done. The paper's processes have a clock each."
    ),
    ours="here",
    default="",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="ccu",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=of,
    why_not=verdicts.reasons("ccu", answers.WHY_NOT, verdicts.NOT_YET),
    revision=4,
    quick_minutes=3,
)
