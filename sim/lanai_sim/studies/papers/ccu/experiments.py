"""The paper's experiments, each a function from `quick` to figures."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from lanai_host.config import sparc_sunos
from lanai_host.stacks.ccu.messages import HEADER
from lanai_host.stacks.ccu.stack import CcuOptions, ethernet, lam, mpich

from ....job.job import Job
from ....machine.machine import Machine
from ....machine.presets import ethernet10
from ..claims import Experiment, Figures

# The paper's system and stand-ins for the two that it is compared with, all on an Ethernet of
# 10 Mbit/s.
#
# MPICH and LAM themselves are not built. Their stand-ins are the same daemon with other rules: what
# the paper says of them, and no more.

FABRIC = "ethernet"
COLLIDING_FABRIC = "ethernet-csma"
HOST = sparc_sunos()
NIC = ethernet10()
OURS = ethernet()
SYSTEMS: dict[str, CcuOptions] = {"ccu": OURS, "lam": lam(), "mpich": mpich()}
LONG = 98_304  # bytes of a message that is many windows
LONGEST = 1_048_576  # of one that is many time slices
EXPERIMENT_PACKET = 1024  # bytes of a packet where the paper varies its window
PRESENT, AWAY = 45_000, 60_000  # microseconds of its processor for the receiver's daemon, then for others: chosen
SLICES = {"20_20": (20_000, 20_000), "100_60": (100_000, 60_000)}  # others, to see what the choice decides


def unicast() -> CcuOptions:
    """The paper's other version of its broadcast."""
    return replace(OURS, broadcast=False)


def shared(window: int, ack_every: int = 0, slices: tuple[int, int] = (PRESENT, AWAY)) -> CcuOptions:
    """The paper's experiment on the size of the window. No timer acknowledges less than `ack_every`
    packets; 0: than a whole window, as in the paper's implementation, where both numbers are 25.
    The paper does not say what kept the daemon from its packets; here another process has the
    receiver's workstation at times: `slices` says for how long the daemon has it, then the other."""
    present, away = slices
    return replace(
        OURS,
        packet=EXPERIMENT_PACKET,
        window=window,
        ack_every=ack_every or window,
        ack_timer=0,
        present=present,
        away=away,
    )


PROGRAM = Path(__file__).with_name("patterns.py")
SIZES = (4, 1000, 2000, 4000, 6000, 8000, 12_000, 16_000)
FEW = (4, 1000, 8000, 16_000)
COLLECTIVE = (4, 250, 1000, 4000)
SENSITIVE = (25, 28, 30, 32, 34, 40)  # windows
NODES = 8
REPETITIONS = 50  # of barrier and broadcast
COLLIDING = ("alltoall", "allgather", "gather", "scatter")
CHANCES = 4  # repetitions where chance decides
LOSSES = (1, 3)  # of a hundred packets on each wire: a choice, as the paper has no number
LOSING = ("pingpong", "exchange", *COLLIDING)
LOSSY_MESSAGE = 8000  # bytes of a message between two nodes on a wire that loses packets
ONE_PACKET = 1000  # bytes of a message that is a packet
FULL_PACKET = OURS.packet - HEADER.size  # bytes of the longest such message
AT_ROOT = {"gather", "reduce"}  # the root's end counts
AT_OTHERS = {"bcast", "linear_bcast", "scatter"}  # the last of the other processes' ends
FROM_ROOT = {"bcast", "linear_bcast", "scatter", "ping", "pingpong", "talk", "stream"}  # rank 0 sends first


@dataclass(frozen=True)
class Outcome:
    """The times and counts of one run.

    Attributes:
        times: by size: for each repetition when each rank began and ended, in microseconds.
        counts: what the daemons counted, over all nodes.
        share: messages that followed each other; a time is divided by it.
    """

    times: Mapping[int, Sequence[Sequence[tuple[float, float]]]]
    counts: Mapping[str, int]
    share: int = 1

    def longest(self, pattern: str) -> dict[int, float]:
        """Microseconds by size: until the slowest of the processes that count in the paper is done; of the slowest
        repetition."""
        return {size: max(spans) for size, spans in self.spans(pattern).items()}

    def mean(self, pattern: str) -> dict[int, float]:
        """The same, the mean of the repetitions."""
        return {size: fmean(spans) for size, spans in self.spans(pattern).items()}

    def spans(self, pattern: str) -> dict[int, list[float]]:
        """The same of each repetition.

        They count from when the last of those that send first has left the barrier. Processes leave
        it at different times, which says something of the barrier only.
        """
        senders = slice(0, 1) if pattern in FROM_ROOT else slice(None)
        part = slice(0, 1) if pattern in AT_ROOT else slice(1, None) if pattern in AT_OTHERS else slice(None)
        return {
            size: [
                (max(end for _, end in ranks[part]) - max(begin for begin, _ in ranks[senders])) / self.share
                for ranks in runs
            ]
            for size, runs in self.times.items()
        }

    def deviations(self) -> dict[int, float]:
        """Standard deviations of the processes' own times, by size."""
        return {size: pstdev(end - begin for begin, end in runs[0]) for size, runs in self.times.items()}


def observed(
    pattern: str,
    ranks: int,
    options: CcuOptions,
    sizes: Sequence[int],
    *,
    repetitions: int = 1,
    fabric: str = FABRIC,
    faults: Sequence[str] = (),
) -> Outcome:
    """A run of a pattern, one rank a node."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "outcome.json")
        command = ("python", str(PROGRAM), str(file), str(repetitions), pattern, *map(str, sizes))
        machine = Machine(NIC, fabric, HOST, faults)
        Job(command, ranks, "ccu", machine, options).run().check()
        found = json.loads(file.read_text())
    times = {int(size): runs for size, runs in found["times"].items()}
    begin = "nic_ccu_"
    names = [name.removeprefix(begin) for name in found["counts"][0] if name.startswith(begin)]
    return Outcome(
        times, {name: sum(counts[begin + name] for counts in found["counts"]) for name in names}, found["share"]
    )


def measured(pattern: str, ranks: int, options: CcuOptions, sizes: Sequence[int]) -> dict[int, float]:
    """Microseconds by size."""
    return observed(pattern, ranks, options, sizes).longest(pattern)


def compared(pattern: str, ranks: int, sizes: Sequence[int]) -> Figures:
    """All systems' times."""
    return {
        f"{name}.{pattern}_us.{size}": time
        for name, options in SYSTEMS.items()
        for size, time in measured(pattern, ranks, options, sizes).items()
    }


def pattern_of_two(pattern: str) -> Callable[[bool], Figures]:
    return lambda quick: compared(pattern, 2, FEW if quick else SIZES)


def pattern_of_eight(pattern: str) -> Callable[[bool], Figures]:
    return lambda quick: compared(pattern, NODES, COLLECTIVE[:2] if quick else COLLECTIVE)


def broadcast(quick: bool) -> Figures:
    """Beside all systems: ours with point-to-point messages, as the paper compares (CC-21), and with
    a packet for each node; on fewer nodes; and as often as in the paper."""
    every = (*COLLECTIVE[:3], FULL_PACKET) if quick else (*COLLECTIVE, FULL_PACKET)
    figures: Figures = compared("bcast", NODES, every)
    sizes = (ONE_PACKET, FULL_PACKET) if quick else every
    for name, options, pattern in (
        ("unicast", unicast(), "bcast"),
        ("linear", OURS, "linear_bcast"),
    ):
        found = measured(pattern, NODES, options, sizes)
        figures |= {f"{name}.bcast_us.{size}": time for size, time in found.items()}
    for nodes in (2, 4):
        found = measured("bcast", nodes, OURS, (ONE_PACKET,))
        figures[f"ccu.bcast_us_of_nodes.{nodes}"] = found[ONE_PACKET]
    often = observed("bcast", NODES, OURS, (ONE_PACKET,), repetitions=REPETITIONS)
    figures["ccu.bcast_repetitions"] = REPETITIONS
    figures["ccu.bcast_repeated_us"] = often.longest("bcast")[ONE_PACKET]
    return figures


def linear_reduce(quick: bool) -> Figures:
    """CC-G4: the root of a reduce by gather receives from all."""
    return {
        f"ccu.reduce_us_of_nodes.{nodes}": measured("reduce", nodes, OURS, (250,))[250]
        for nodes in ((2, NODES) if quick else (2, 4, NODES))
    }


def bitonic(quick: bool) -> Figures:
    """The longest of the processes' times, and how they deviate."""
    figures: Figures = {}
    for name, options in SYSTEMS.items():
        outcome = observed("bitonic", NODES, options, COLLECTIVE[:2] if quick else COLLECTIVE)
        figures |= {f"{name}.bitonic_us.{size}": time for size, time in outcome.longest("bitonic").items()}
        figures |= {f"{name}.bitonic_deviation_us.{size}": time for size, time in outcome.deviations().items()}
    return figures


def windows(quick: bool) -> Figures:
    """CC-12: a long message in packets of 1,024 bytes by window, through SunOS's buffer, while
    another process gets every other time slice of the receiver's workstation."""
    figures: Figures = {}
    for window in (25, 28, 30, 32, 34) if quick else (8, 16, 20, 25, 28, 30, 32, 34, 40, 48):
        outcome = observed("stream", 2, shared(window), (LONGEST,))
        figures[f"window.stream_us.{window}"] = outcome.longest("stream")[LONGEST]
        figures[f"window.resent.{window}"] = outcome.counts["resent"]
    return figures


def window_choices(quick: bool) -> Figures:
    """The same by what was chosen for it: other time slices, and the paper's acknowledgement of each
    25 packets with every window; none with `quick`."""
    chosen = {name: {"slices": slices} for name, slices in SLICES.items()}
    ways: dict[str, dict[str, Any]] = chosen | {"every_25": {"ack_every": OURS.ack_every}}
    figures: Figures = {}
    for name, how in {} if quick else ways.items():
        for window in SENSITIVE:
            outcome = observed("stream", 2, shared(window, **how), (LONGEST,))
            figures[f"window.{name}_us.{window}"] = outcome.longest("stream")[LONGEST]
    return figures


def colliding(quick: bool) -> Figures:
    """Collective operations of 1,000 bytes on a wire on which NICs collide, in the mean of several: nodes back off by
    chance."""
    figures: Figures = {}
    for pattern in COLLIDING[:1] if quick else COLLIDING:
        for name, options in SYSTEMS.items():
            outcome = observed(pattern, NODES, options, (ONE_PACKET,), repetitions=CHANCES, fabric=COLLIDING_FABRIC)
            figures[f"colliding.{name}.{pattern}_us.{ONE_PACKET}"] = outcome.mean(pattern)[ONE_PACKET]
            figures[f"colliding.{name}.{pattern}_resent.{ONE_PACKET}"] = outcome.counts["resent"]
    return figures


def losing(quick: bool) -> Figures:
    """The same on a wire that also loses packets, beside messages of two nodes. What is lost follows from the seed and
    the packet's number on its wire, so all systems lose as large a share."""
    figures: Figures = {}
    for loss in LOSSES[-1:] if quick else LOSSES:
        for pattern in LOSING[:1] if quick else LOSING:
            ranks, size = (NODES, ONE_PACKET) if pattern in COLLIDING else (2, LOSSY_MESSAGE)
            for name, options in SYSTEMS.items():
                outcome = observed(
                    pattern,
                    ranks,
                    options,
                    (size,),
                    repetitions=CHANCES,
                    fabric=COLLIDING_FABRIC,
                    faults=(f"drop * rate={loss / 100} seed=1",),
                )
                figures[f"losing.{loss}.{name}.{pattern}_us.{size}"] = outcome.mean(pattern)[size]
                figures[f"losing.{loss}.{name}.{pattern}_resent.{size}"] = outcome.counts["resent"]
    return figures


def stalls(quick: bool) -> Figures:
    """CC-G1: an acknowledgement for each so many packets with a window of 25, and short messages
    with and without the acknowledgement timer."""
    figures: Figures = {}
    for every in (5, 25) if quick else (1, 5, 12, 20, 25):
        options = replace(OURS, ack_every=every)
        figures[f"stall.stream_us.{every}"] = measured("stream", 2, options, (LONG,))[LONG]
    for name, timer in (("paper", 0), ("timer", 5_000)):
        outcome = observed("talk", 2, replace(OURS, ack_timer=timer, timeout=20_000), (4,))
        figures[f"stall.timeouts.{name}"] = outcome.counts["timeouts"]
        figures[f"stall.resent.{name}"] = outcome.counts["resent"]
        figures[f"stall.talk_us.{name}"] = outcome.longest("talk")[4]
    return figures


def packets(quick: bool) -> Figures:
    """Cutting off: 8,000 bytes in packets of several sizes (CC-15, CC-20)."""
    figures = {}
    for size in (665, 1300) if quick else (333, 665, 1000, 1300):
        options = replace(OURS, packet=size)
        figures[f"packet.pingpong_us.{size}"] = measured("pingpong", 2, options, (8000,))[8000]
    return figures


EXPERIMENTS = [
    Experiment("pingpong", "a message bounces between two nodes (CC-B2, figures 2 to 4)", pattern_of_two("pingpong")),
    Experiment("ping", "one node keeps sending to another (CC-B1)", pattern_of_two("ping")),
    Experiment("exchange", "two nodes send to each other (CC-B3)", pattern_of_two("exchange")),
    Experiment("bcast", "barrier and broadcast on eight nodes (CC-B4, figure 5)", broadcast),
    *(
        Experiment(name, f"barrier and {name} on eight nodes ({where})", pattern_of_eight(name))
        for name, where in (
            ("gather", "CC-B5, figure 6"),
            ("scatter", "CC-B6, figure 7"),
            ("reduce", "CC-B7, figure 8"),
            ("allgather", "figure 11"),
            ("alltoall", "figure 12"),
            ("allreduce", "figure 13"),
            ("reduce_scatter", "figure 14"),
            ("scan", "figure 15"),
        )
    ),
    Experiment("linear", "reduce by the number of nodes (CC-G4)", linear_reduce),
    Experiment("bitonic", "barrier and bitonic sort on eight nodes (CC-B8, figure 9)", bitonic),
    Experiment(
        "cannon",
        "Cannon's matrix product on nine nodes (CC-B9, figure 10)",
        lambda quick: compared("cannon", 9, (8,) if quick else (8, 24)),
    ),
    Experiment("colliding", "collective operations on a wire with collisions", colliding),
    Experiment("losing", "messages and collective operations on a wire with collisions and loss", losing),
    Experiment("windows", "a long message in packets of 1,024 bytes by window (CC-12)", windows),
    Experiment("window_choices", "the same with other time slices, and acknowledged as in the paper", window_choices),
    Experiment("stalls", "acknowledgements for each so many packets, and a timer for them (CC-G1)", stalls),
    Experiment("packets", "8,000 bytes by the size of packets", packets),
]
