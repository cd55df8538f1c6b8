"""How each claim is answered, and why those that are not are not."""

from collections.abc import Mapping

from ..verdicts import ByFigure, ByShape, Figures, Way
from .experiments import BANDWIDTH_SIZES, LINK_KBYTES, ROUND_TRIP_SIZES

ADAPTER = "The adapter writes; the paper's receiver takes a trap for each packet."
TWO_COMMANDS = (
    "A remote write needs two commands, for the data and for the notice, and a record one. So requests "
    "gain where copying costs more than a command."
)
LOOK = "A record is found by looking at memory; the paper's library makes a system call."
SMALL = "The host's price for a command and a record decides."
LARGE = "The link decides: frames here have less overhead than Ethernet's."

WHY_NOT = {
    "t2_1": "No experiment below MPI yet; `lanai bench remote` measures puts on the project's testbed.",
    "t2_2": "No experiment below MPI yet; `lanai bench remote` measures puts on the project's testbed.",
    "t4_2.srh": "There is no hub of 100 Mbit/s yet: links work in both directions at once.",
    "t4_2.nsrh": "There is no hub of 100 Mbit/s yet: links work in both directions at once.",
    "t4_2": "The paper's largest messages are left out: they take long to simulate and add nothing.",
    "t4_3": "NPB is not run.",
    "s4_3": "MPICH over TCP is not simulated.",
    "s3_2.barrier": "Not followed: the barrier is the MPI library's, by messages.",
}


def ways() -> Mapping[str, Way]:
    found: dict[str, Way] = {}
    for name in ("sr", "nsr"):
        for size in ROUND_TRIP_SIZES:
            figure = f"rtt.{name}.{size}"
            small = ADAPTER if name == "sr" else LOOK
            why = small if size <= 64 else LARGE
            found[f"mbcf.t4_1.{name}.{size}"] = ByFigure(f"theirs.{figure}", why, f"ours.{figure}")
        for size in BANDWIDTH_SIZES:
            figure = f"bandwidth.{name}.{size}"
            why = SMALL if size <= 256 else LARGE
            found[f"mbcf.t4_2.{name}f.{size}"] = ByFigure(f"theirs.{figure}", why, f"ours.{figure}")
    found["mbcf.s4_2.requests_help"] = ByShape(_requests_help, _round_trips, TWO_COMMANDS)
    found["mbcf.s4_2.no_requests_in_streams"] = ByShape(
        lambda f: 0.8 < _streams(f) < 1.25, lambda f: f"{_streams(f):.2f} times NSR at 1024 bytes", SMALL
    )
    found["mbcf.s4_2.near_the_wire"] = ByShape(
        lambda f: f["theirs.bandwidth.sr.65536"] > 0.9 * LINK_KBYTES / 1000,
        "{f[theirs.bandwidth.sr.65536]:.2f} of " + f"{LINK_KBYTES / 1000} MB/s",
        LARGE,
    )
    return found


def why_not(claim_id: str) -> str:
    """Of a claim without a figure or a test; the longest beginning of its id that has a reason."""
    short = claim_id.removeprefix("mbcf.")
    fitting = [begin for begin in WHY_NOT if short.startswith(begin)]
    return WHY_NOT[max(fitting, key=len)] if fitting else "No experiment or test yet."


def _requests_help(figures: Figures) -> bool:
    return all(figures[f"theirs.rtt.sr.{size}"] < figures[f"theirs.rtt.nsr.{size}"] for size in ROUND_TRIP_SIZES)


def _round_trips(figures: Figures) -> str:
    shares = [figures[f"theirs.rtt.sr.{size}"] / figures[f"theirs.rtt.nsr.{size}"] for size in ROUND_TRIP_SIZES]
    gains = [size for size, share in zip(ROUND_TRIP_SIZES, shares, strict=True) if share < 1]
    return f"{min(shares):.2f} to {max(shares):.2f} times NSR; below it at {', '.join(map(str, gains))} bytes"


def _streams(figures: Figures) -> float:
    return figures["theirs.bandwidth.sr.1024"] / figures["theirs.bandwidth.nsr.1024"]
