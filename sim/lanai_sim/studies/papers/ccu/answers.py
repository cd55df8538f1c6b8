"""The answer of each experiment to the paper's claims: the figure to put beside the number, or what
must show."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from lanai_firmware.programs.ccu.layout import ENTRIES

from ..verdicts import ByFigure, ByShape, Figures, Way
from . import experiments
from .experiments import EXPERIMENT_PACKET, FULL_PACKET, NODES, ONE_PACKET, OURS

OTHERS = ("lam", "mpich")
COLLECTIVES = ("gather", "scatter", "reduce", "allgather", "alltoall", "allreduce", "reduce_scatter", "scan")
WINDOW = (
    "By the paper's rule, an acknowledgement for each 25 packets. How long another process has the receiver's "
    "processor was chosen, and with it the best window: the paper does not describe its experiment. Smaller windows "
    "wait for acknowledgements more often. A larger one does not fit into the buffer, and its last packets are lost "
    "while the daemon is kept from its processor. If a window is acknowledged as a whole, nothing is acknowledged "
    "then, and the sender waits for its timeouts."
)
STAND_IN = "The others are stand-ins: the same daemon with their rules."


def mbits(size: int) -> Callable[[Figures], float]:
    """Bandwidth of PingPong."""
    return lambda f: 8 * size / f[f"ccu.pingpong_us.{size}"]


def design(name: str) -> float:
    """Constants of the paper's design, as they are here."""
    return {
        "packet": OURS.packet,
        "window": OURS.window,
        "ack_every": OURS.ack_every,
        "entries": int(ENTRIES),
        "mbits": experiments.NIC.link_kbytes * 8 / 1000,
        "system_buffer": OURS.system_buffer,
        "experiment_packet": EXPERIMENT_PACKET,
        "cannon_messages": 2,
    }[name]


def constant(name: str, why: str) -> ByFigure:
    return ByFigure(lambda f: design(name), why)


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


def over_lam(figures: Figures, size: int) -> float:
    """The time of LAM's stand-in over ours, one way again and again."""
    return figures[f"lam.ping_us.{size}"] / figures[f"ccu.ping_us.{size}"]


def over_mpich(figures: Figures) -> float:
    """The smallest time of MPICH's stand-in over ours, one way again and again."""
    return min(figures[f"mpich.ping_us.{size}"] / figures[f"ccu.ping_us.{size}"] for size in sizes(figures, "ping"))


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


def _of_window(figures: Figures) -> str:
    """Return why it is the best, and which one is with other choices."""
    choices = {"45 and 60 ms": "stream", "20 ms each": "20_20", "100 and 60 ms": "100_60"}
    found = [
        f"{best_window(figures, name)} ({label})"
        for label, name in choices.items()
        if f"window.{name}_us.30" in figures
    ]
    return f"{WINDOW} Acknowledged so, the best is {', '.join(found)}." if found else WINDOW


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


def never_behind(*patterns: str, why: str = STAND_IN) -> ByShape:
    """Ours is ahead of the others, or where it is least ahead nobody is."""
    return ByShape(
        lambda f: least(f, patterns) > 1,
        lambda f: ", ".join(f"{pattern}: {lead(f, pattern):.2f} times ours at least" for pattern in patterns),
        why,
        lead=lambda f: least(f, patterns),
    )


BY_CLAIM: dict[str, Way] = {
    "s3.packet": constant("packet", "In the preset `ethernet`. The daemon's entries hold up to 1,331 bytes."),
    "s3.system_buffer": constant("system_buffer", "The option `system_buffer` of the preset `ethernet`."),
    "s3.experiment_packet": constant("experiment_packet", "The same."),
    "s3.best_window": ByFigure(
        _papers_best,
        _of_window,
    ),
    "s6_1.repetitions": ByFigure(
        "ccu.bcast_repetitions",
        "For 1,000 bytes and our system; other times are of one repetition, as simulated time does not vary by itself.",
    ),
    "s7.cannon_messages": constant("cannon_messages", "The program shifts a block of A and one of B."),
    "s8.three_causes": ByShape(
        lambda f: most_resent(f) > 0 and overlap(f) > 1.1 and gain(f) > 1.1,
        lambda f: (
            f"packets sent again with the largest window: {most_resent(f):.0f}, with the best: "
            f"{f[f'window.resent.{best_window(f)}']:.0f}; 16 messages of 1,000 bytes one after the other take "
            f"{overlap(f):.2f} times as long as 16,000 bytes in one; a broadcast to 7 nodes by point-to-point "
            f"messages {gain(f):.2f} times as long"
        ),
        "Each cause switched off by itself.",
    ),
    "s3.window": constant("window", "The same."),
    "s3.ack_every": constant("ack_every", "The same."),
    "s4.buffer_entries": constant("entries", "Both pools together: 192 to send and 128 to receive."),
    "s5_3.network": constant("mbits", "The fabric `ethernet`."),
    "s6.workstations": ByFigure(lambda f: NODES if sizes(f, "gather") else 0, "The same."),
    "s7.bitonic_nodes": ByFigure(lambda f: NODES if sizes(f, "bitonic") else 0, "The same."),
    "s5_3.bw_8000": ByFigure(mbits(8000), "One of the two rows that the two free constants are fitted on."),
    "s5_3.bw_16000": ByFigure(mbits(16_000), "The other row that they are fitted on."),
    "s5_3.longer_better": ByShape(
        _longer_is_better,
        lambda f: ", ".join(f"{size} bytes: {mbits(size)(f):.2f} Mbit/s" for size in sizes(f, "pingpong")),
        "The daemon and the wire work on different packets.",
    ),
    "s5_3.ping_vs_mpich": ByShape(
        lambda f: over_mpich(f) > 1,
        lambda f: ", ".join(
            f"{size} bytes: {f[f'mpich.ping_us.{size}'] / f[f'ccu.ping_us.{size}']:.2f}" for size in sizes(f, "ping")
        ),
        "Times of the stand-in over ours.",
        lead=over_mpich,
    ),
    "s5_3.ping_vs_lam_window": ByShape(
        lambda f: all(
            over_lam(f, size) <= 1 if 6000 <= size <= 8000 else over_lam(f, size) > 1 for size in sizes(f, "ping")
        ),
        lambda f: ", ".join(f"{size} bytes: {over_lam(f, size):.2f}" for size in sizes(f, "ping")),
        "Times of the stand-in over ours. A message of up to 8,192 bytes is one datagram of LAM: the work of one "
        "packet, and one acknowledgement. Nothing of it overlaps.",
    ),
    "s5_3.pingpong_exchange": never_behind("pingpong", "exchange"),
    "s6_1.bcast_order": ByShape(
        lambda f: bcast_lead(f) > 1,
        lambda f: (
            f"1,000 bytes to 7: {f['ccu.bcast_us.1000']:,.0f} us by broadcast, "
            f"{f['linear.bcast_us.1000']:,.0f} us by point-to-point messages ({gain(f):.2f} times as long; "
            f"{gain(f, size=FULL_PACKET):.2f} with a full packet of {FULL_PACKET:,} bytes), "
            f"{f['unicast.bcast_us.1000']:,.0f} us by one message that the daemon sends in a packet for each node "
            f"({gain(f, 'unicast'):.2f}; {gain(f, 'unicast', FULL_PACKET):.2f}); to 1 and 3 nodes by broadcast "
            f"{f['ccu.bcast_us_of_nodes.2']:,.0f} and {f['ccu.bcast_us_of_nodes.4']:,.0f} us"
        ),
        "A broadcast is one packet on the wire. The host's call for the first message and the daemons' work for the "
        "first packet are the same in all ways.",
        lead=bcast_lead,
    ),
    "s6.collectives_better": ByShape(
        lambda f: least(f, COLLECTIVES) > 1,
        lambda f: (
            ", ".join(f"{pattern}: {lead(f, pattern):.2f} times ours at least" for pattern in COLLECTIVES)
            + colliding(f)
            + losing(f)
        ),
        f"{STAND_IN} Ours is ahead with 4 bytes. It is behind where many packets of 1,000 bytes want the wire at "
        "once: it is full then, and broadcast saves nothing. With collisions (experiment `colliding`) it is far ahead "
        "where it broadcasts, and no packet is lost.",
        lead=lambda f: least(f, COLLECTIVES),
    ),
    "s7.bitonic_best": ByShape(
        lambda f: lead(f, "bitonic") > 1 and deviates_least(f),
        lambda f: f"{lead(f, 'bitonic'):.2f} times ours at least; standard deviations: {deviations(f)}",
        STAND_IN,
        lead=lambda f: lead(f, "bitonic") if deviates_least(f) else 0.0,
    ),
    "s7.cannon_best": never_behind("cannon"),
    "s7.cannon_nodes": ByFigure(lambda f: 9 if sizes(f, "cannon") else 0, "The same."),
}

WHY_NOT = {
    "s3.window_fits_buffer": "The best window again, as a share of the buffer: no number of its own.",
    "s5_3.oneway_derived": "The two fitted bandwidths again, as times: no numbers of their own.",
    "s5_3.lam_single_message": "About LAM. The preset `lam` has datagrams of up to 8,192 bytes, as this says.",
    "s1.lam_stop_and_wait": "About LAM. The preset `lam` waits for each datagram's acknowledgement, as this says.",
    "s1.mpich_tcp": "About MPICH. The preset `mpich` has TCP's acknowledgements and no broadcast, as this says.",
    "s1.ibm_limit": "About a system that is not built here.",
}


def ways() -> dict[str, Way]:
    return {f"ccu.{name}": way for name, way in BY_CLAIM.items()}
