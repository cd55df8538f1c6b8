"""The paper of the T3D: its claims' answers, plots, sections and page."""

from ...benches.p2p.plots import by_size
from ...drawing import Plot
from .. import verdicts
from ..page import Frame, Section
from ..studies import Study
from ..verdicts import ByFigure, ByShape, Figures, Way
from . import experiments


def plateau(figures: Figures) -> float:
    """Bandwidth of the longest message that was measured, of 1 MB or more."""
    sizes = [int(name.rsplit(".", 1)[1]) for name in figures if name.startswith("bandwidth_MBps.")]
    if not sizes or max(sizes) < 1_000_000:
        raise KeyError("bandwidth_MBps of 1 MB")
    return figures[f"bandwidth_MBps.{max(sizes)}"]


def _why_get(figures: Figures) -> str:
    half_lines = figures.get("half_lines.get_MBps")
    found = f" make the ratio {figures['put_MBps'] / half_lines:.2f}" if half_lines else " are slower"
    return (
        "The adapter answers a get in packets of a line of 32 bytes, as it puts. The paper does not say how the T3D "
        f"answered. Gets whose answers carry 16 bytes a packet, the least that the adapter can,{found}."
    )


def _misaligned(figures: Figures) -> float:
    return figures["misaligned_us.100000"] / figures["aligned_us.100000"]


def _extension(figures: Figures) -> float:
    return figures["validation.extends.first_us"] - figures["validation.unchecked.first_us"]


def _check(figures: Figures) -> float:
    return figures["validation.extends.second_us"] - figures["validation.unchecked.second_us"]


BY_CLAIM: dict[str, Way] = {
    "s2.put_vs_get": ByFigure(
        lambda f: f["put_MBps"] / f["get_MBps"],
        _why_get,
        experiment="answers",
    ),
    "s2.slots_per_pair": ByFigure("design.slots_per_pair", "The same."),
    "s2.send_levels": ByFigure("design.send_levels", "The same; a flag in the header makes either synchronous."),
    "s3_4.alignment": ByFigure("design.alignment", "The option `alignment`."),
    "s5.alignment_first": ByFigure("design.alignment_first", "The option `alignment=8`."),
    "s2.transfer_units": ByFigure("design.transfer_bits", "Swap and add change words of 32 bits; puts move any bytes."),
    "s3_4.misaligned_penalty": ByShape(
        lambda f: _misaligned(f) > 1.2,
        lambda f: f"100,000 bytes that are off by one take {_misaligned(f):.2f} times as long",
        "They are copied into a temporary buffer at both ends.",
    ),
    "s4.processors": ByFigure("design.processors", "The same."),
    "s4.medium_bandwidth": ByFigure("bandwidth_MBps.100000", "The host's price `call` is fitted on it."),
    "s4.large_bandwidth": ByFigure(
        plateau, "The clock of the host bus is fitted on it. It can be set in steps of 2 % only."
    ),
    "s4.share_of_peak": ByFigure(
        lambda f: 100 * plateau(f) / f["put_MBps"],
        "A long message is put in windows of 128 KiB, almost without a pause, so next to nothing is lost. The paper "
        "does not say why its device lost more.",
    ),
    "s4.peak_derived": ByFigure(
        "put_MBps",
        "The same as `s4.share_of_peak`, and not counted: puts are fitted on what messages reach, which is less on the "
        "T3D.",
    ),
    "s3_1.ready_no_gain": ByShape(
        lambda f: abs(f["mode.ready"] / f["mode.standard"] - 1) < 0.02,
        "ready {f[mode.ready]:.2f} us, standard {f[mode.standard]:.2f} us",
        "A ready send is a standard send.",
    ),
    "s5.flag_last": ByShape(
        lambda f: f["version.status_last.completes"] == 1 and f["version.status_first.completes"] == 0,
        "with the status first the program does not end, with the status last it does",
        "With `--nic t3d`. The network delays some packets, so the line with the status is there before the rest of "
        "the header.",
    ),
    "s5.wait_progress": ByShape(
        lambda f: f["version.queue.completes"] == 1 and f["version.late.completes"] == 0,
        "two long sends and a wait for the receive first: the second version hangs, the queue does not",
        "The deadlock report names both waits.",
    ),
    "s3_3.validation_cost": ByShape(
        lambda f: _extension(f) > 10 * max(_check(f), 0.1),
        lambda f: f"a check adds {_check(f):.2f} us to a message, extending the heap {_extension(f):.2f} us",
        "The prices of a check and of two entries to the kernel are ours; the paper has none.",
    ),
    "s6.t3e_fence": ByShape(
        lambda f: f["t3e.fenced.wrong"] == 0 < f["t3e.bare.wrong"],
        "of {f[t3e.bare.messages]:.0f} messages {f[t3e.bare.wrong]:.0f} are wrong without fences, "
        "{f[t3e.fenced.wrong]:.0f} of {f[t3e.fenced.messages]:,.0f} with them",
        "The network holds back one packet in five until the next has passed.",
    ),
}

WHY_NOT = {
    "s4.latency_comparable": "CRI/EPCC MPI is not built here, and the paper prints no latency.",
    "s4.ratio_derived": "CRI/EPCC MPI is not built here.",
    "s1.best_bandwidth": "PVM and CRI/EPCC MPI are not built here.",
    "s1.collective_bandwidth": "CRI/EPCC MPI is not built here.",
    "s5.first_device": "It is about the authors' work.",
    "s5.tuning": "It is about the authors' work.",
    "s1_2.max_pe": "It is about the machine. The shell numbers 256 nodes.",
}
CONTEXT_WHY_NOT = "It is about other systems or the machine itself."


def ways() -> dict[str, Way]:
    """By the claim's whole id."""
    return {f"t3d.{name}": way for name, way in BY_CLAIM.items()}


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


# The paper's figures, in its order.


SECTIONS = (
    Section(
        "Figure 6: small messages",
        plots={
            "fig6-latency": (
                "Half a round trip of `mpptest`, from 0 to 1,024 bytes. The paper prints no latency, only that its "
                "curve is erratic; ours is smooth, as nothing else runs on simulated nodes."
            )
        },
    ),
    Section(
        "Figure 7: medium messages",
        plots={
            "fig7-medium": (
                "Bytes over half a round trip, from 10,000 to 200,000 bytes. The paper prints its level from 100,000 "
                "bytes on, to which the host's price `call` is fitted. The second line is what the paper's two levels "
                "say of a message of any size."
            )
        },
    ),
    Section(
        "Figure 8: large messages",
        plots={
            "fig8-large": (
                "The same from 1 to 5 MB. The clock of the host bus is fitted on the paper's level, so the agreement "
                "says nothing."
            )
        },
    ),
)


# The whole study: run every experiment, answer every claim, draw, and word the page.


FRAME = Frame(
    title="MPICH on the Cray T3D, measured again",
    believe=("the protocol: where its three modes begin, its flags, and what goes wrong without them."),
    doubt=(
        "bandwidths. Two rows are fitted on, and a get is a command as a put is. On a T3D one is a loop of "
        "loads and the other of stores, hence the paper's factor of 2."
    ),
    open=("what a get costs that is made of prefetched words."),
    intro=(
        "Brightwell and Skjellum (1996) made a device for MPICH of the T3D's remote puts. This page "
        "runs their experiments by `--system t3d-1996`, and sets what they published beside what comes "
        "out. The NIC's remote-memory adapter takes the place of the T3D's shell: puts, gets and swaps "
        "are done in hardware. `lanai paper t3d` writes the page. [The mechanisms](mechanisms.md#t3d) "
        "are on a page of their own.\n\n"
        "The paper prints few numbers, and none of the machine's. Two constants are fitted, each on one "
        "row: the clock of the host bus on the bandwidth of large messages, and the host's price of a "
        "call of MPI on that of 100,000 bytes. Together the two rows say that a message of n bytes takes "
        "65 us + n / 107 MB/s. All other prices are choices. Experiment `choices` doubles those of the "
        "host: puts, gets and the bandwidths change by less than 1 %, the latency of 1,024 bytes by the "
        "two copies of its bytes. CRI/EPCC MPI, with which the paper compares itself, is not built here.\n\n"
        "The shell keeps the order of puts, and shows a header's first line before its second. So two "
        "experiments run with puts by firmware: the header with the status first (`--nic t3d`), and the T3E "
        "(`--nic t3e`, with the default host, as the paper says nothing of its speed)."
    ),
    ours="here",
    default="",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="t3d",
    frame=FRAME,
    experiments=experiments,
    ways=ways,
    draw=of,
    why_not=verdicts.reasons("t3d", WHY_NOT, CONTEXT_WHY_NOT),
    quick_minutes=2,
)
