"""What each experiment says of the paper's claims: the figure to put beside the number, or what
must show."""

from collections.abc import Callable

from lanai_firmware.programs.ccu.layout import ENTRIES

from ..verdicts import ByFigure, ByShape, Figures, Way
from . import systems
from .experiments import NODES

OURS = systems.SYSTEMS["ccu"]
OTHERS = ("lam", "mpich")
COLLECTIVES = ("gather", "scatter", "reduce", "allgather", "alltoall", "allreduce", "reduce_scatter", "scan")
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
        "mbits": 10,
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


def lead(figures: Figures, pattern: str) -> float:
    """The smallest of the others' times over ours, over all sizes."""
    return min(
        figures[f"{other}.{pattern}_us.{size}"] / figures[f"ccu.{pattern}_us.{size}"]
        for other in OTHERS
        for size in sizes(figures, pattern)
    )


def never_behind(*patterns: str, why: str = STAND_IN) -> ByShape:
    """Ours is never slower than the others by more than a hundredth."""
    return ByShape(
        lambda f: min(lead(f, pattern) for pattern in patterns) >= 0.99,
        lambda f: ", ".join(f"{pattern}: {lead(f, pattern):.2f} times ours at least" for pattern in patterns),
        why,
    )


BY_CLAIM: dict[str, Way] = {
    "s3.packet": constant("packet", "1,331 bytes: 1.3 times 1,024."),
    "s3.window": constant("window", "The same."),
    "s3.ack_every": constant("ack_every", "The same."),
    "s4.buffer_entries": constant("entries", "Both pools together: 192 to send and 128 to receive."),
    "s5_3.network": constant("mbits", "The fabric `ethernet`."),
    "s6.workstations": ByFigure(lambda f: NODES if sizes(f, "gather") else 0, "The same."),
    "s7.bitonic_nodes": ByFigure(lambda f: NODES if sizes(f, "bitonic") else 0, "The same."),
    "s5_3.bw_8000": ByFigure(mbits(8000), "One of the two rows that the two free constants are fitted on."),
    "s5_3.bw_16000": ByFigure(mbits(16_000), "The other row that they are fitted on."),
    "s5_3.longer_better": ByShape(
        lambda f: sizes(f, "pingpong") == sorted(sizes(f, "pingpong"), key=lambda size: mbits(size)(f)),
        lambda f: ", ".join(f"{size} bytes: {mbits(size)(f):.2f} Mbit/s" for size in sizes(f, "pingpong")),
        "The daemon and the wire work on different packets.",
    ),
    "s5_3.ping_vs_mpich": ByShape(
        lambda f: all(f[f"mpich.ping_us.{size}"] >= 0.99 * f[f"ccu.ping_us.{size}"] for size in sizes(f, "ping")),
        lambda f: ", ".join(
            f"{size} bytes: {f[f'mpich.ping_us.{size}'] / f[f'ccu.ping_us.{size}']:.2f}" for size in sizes(f, "ping")
        ),
        "Times of the stand-in over ours.",
    ),
    "s5_3.pingpong_exchange": never_behind("pingpong", "exchange"),
    "s6_1.bcast_order": ByShape(
        lambda f: f["ccu.bcast_us.1000"] <= f["unicast.bcast_us.1000"] and lead(f, "bcast") >= 0.99,
        lambda f: (
            f"1,000 bytes to 7: {f['ccu.bcast_us.1000']:,.0f} us by broadcast, "
            f"{f['unicast.bcast_us.1000']:,.0f} us by a packet for each node"
        ),
        "A broadcast is one packet on the wire.",
    ),
    "s6.collectives_better": never_behind(*COLLECTIVES),
    "s7.bitonic_best": never_behind("bitonic"),
    "s7.cannon_best": never_behind("cannon"),
    "s7.cannon_nodes": ByFigure(lambda f: 9 if sizes(f, "cannon") else 0, "The same."),
}

TESTS = "tests/firmware/programs/ccu/test_daemon.py"
DEVICE = "tests/host/stacks/ccu/test_device.py"
HELD = {
    "s3.fifo_reliable": (f"{TESTS}::test_none_lost_none_doubled_order_kept",),
    "s5_1.no_copy_in_order": (
        f"{DEVICE}::test_nothing_is_copied_to_the_local_buffer_if_receives_come_first_and_in_order",
    ),
    "s4.queue_mix": (f"{TESTS}::test_one_trigger_serves_all_send_queues",),
    "s6_3.scatter_switch": ("tests/host/mpi/test_offers.py::test_a_scatter_of_few_bytes_is_a_multicast_of_all",),
    "s3.loss_cause": ("tests/hdl/segment/test_segment.py::test_a_slow_receiver_loses_its_copy_and_is_counted",),
}
WHY_NOT = {
    "s5_3.ping_vs_lam_window": "LAM's single datagrams of up to 8,192 bytes are not modelled.",
    "s5_1.bsend_error": "A buffered send uses the program's own buffer, as MPI says today.",
    "s1.checkpoint": "There is no checkpoint.",
    "s3.best_window": "SunOS's buffer of 32,768 bytes is not modelled; sequence numbers allow windows up to 31.",
    "s5_3.oneway_derived": "Two values; they follow from the bandwidths above.",
}
CONTEXT = "About another system."
NOT_YET = "No figure yet."


def ways() -> dict[str, Way]:
    return {f"ccu.{name}": way for name, way in BY_CLAIM.items()}
