"""(a) The NIC's processor from 33 to 1056 MHz, at the same host bus, link and cable: matching on
the NIC against matching on the host.

What scales with the processor is the LBUS and its SRAM, as two slots make a cycle. The gateware
itself is run at each clock.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from ..benches.p2p import stages, traffic
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

BASE = 33
CLOCKS = (33, 66, 133, 264, 528, 1056)
QUICK = (33, 133)
THESIS_FACTOR = 24  # claim s5_1.np_speed_needed
THESIS_NIC_US, TARGET_US = 51, 2  # what it starts from, and BIP's network layer


def points(quick: bool) -> list[Point]:
    return grid(matching=("nic", "host"), megahertz=QUICK if quick else CLOCKS)


def measure(point: Point) -> Figures:
    # One engine a clock, built for waveforms, serves both measurements.
    chosen = setting(host={"host_matching": point["matching"] == "host"}, megahertz=point["megahertz"])
    trip = traffic.trips(chosen, (4,), 3, trace=True)[4]
    found = {"latency_us": trip.one_way, "send_us": trip.send}
    if point["matching"] == "nic":
        cut = stages.cut(stages.watch(chosen))
        found |= {"nic_us": cut.nic_send + cut.nic_receive, "wire_us": cut.wire}
    return found


def reaches(curve: dict[float, float], target: float) -> float:
    """The clock at which a falling curve comes down to `target`, by straight lines in 1/clock;
    infinity if it does not."""
    clocks = sorted(curve)
    if curve[clocks[0]] <= target:
        return clocks[0]
    for low, high in pairwise(clocks):
        if curve[high] <= target:
            share = (curve[low] - target) / (curve[low] - curve[high])
            return 1 / (1 / low + share * (1 / high - 1 / low))
    return inf


def fixed_part(curve: dict[float, float]) -> float:
    """a of a + b / clock, through the slowest and the fastest clock: what no processor makes
    faster."""
    low, high = min(curve), max(curve)
    work = (curve[low] - curve[high]) / (1 / low - 1 / high)
    return curve[high] - work / high


class Curves:
    """The times of the sweep, by clock in MHz."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.nic = line(rows, "megahertz", "latency_us", matching="nic")
        self.host = line(rows, "megahertz", "latency_us", matching="host")
        self.inside = line(rows, "megahertz", "nic_us", matching="nic")
        self.top = max(self.nic)
        self.fixed = fixed_part(self.inside)
        self.needed = reaches(self.inside, TARGET_US) / BASE
        self.thesis_at_24 = self.fixed + (THESIS_NIC_US - self.fixed) / THESIS_FACTOR
        self.meet = reaches(self.host, self.nic[BASE])

    def gain(self, curve: dict[float, float]) -> float:
        """Return how many times as fast the fastest clock is as BASE."""
        return curve[BASE] / curve[self.top]


def conclude(rows: Sequence[Row]) -> Conclusion:
    found = Curves(rows)
    plot = Plot(
        "4 bytes one way by the NIC's clock",
        "MHz",
        "us",
        {"NIC matches": found.nic, "host matches": found.host, "the NICs' part": found.inside},
        log="xy",
    )
    return Conclusion(figures_of(found), text_of(found), {"clock": plot})


def figures_of(found: Curves) -> dict[str, float]:
    figures = {f"sweep.clock.latency_us.nic.{mhz:g}": value for mhz, value in found.nic.items()}
    figures |= {f"sweep.clock.latency_us.host.{mhz:g}": value for mhz, value in found.host.items()}
    figures |= {f"sweep.clock.nic_us.{mhz:g}": value for mhz, value in found.inside.items()}
    figures |= {
        "sweep.clock.fixed_us": found.fixed,
        "sweep.clock.factor_to_2us": found.needed,
        "sweep.clock.thesis_nic_us_at_24": found.thesis_at_24,
        "sweep.clock.host_meets_nic_at_33_mhz": found.meet,
        "sweep.clock.gain_nic": found.gain(found.nic),
        "sweep.clock.gain_host": found.gain(found.host),
    }
    return {name: value for name, value in figures.items() if value < inf}


def text_of(found: Curves) -> str:
    top, needed, meet = found.top, found.needed, found.meet
    factor = f"{needed:.1f} times the clock" if needed < inf else f"more than {top / BASE:g} times the clock"
    clock = f"{meet:.0f} MHz" if meet < inf else f"no clock up to {top:g} MHz"
    return (
        f"The NICs' part of a 4-byte message is {found.inside[BASE]:.2f} us at {BASE} MHz and "
        f"{found.inside[top]:.2f} us at {top:g} MHz: {found.fixed:.2f} us of it belong to bus and link and stay. "
        f"To bring it to the {TARGET_US} us that the thesis grants BIP, this firmware needs {factor}, not "
        f"{THESIS_FACTOR}. The thesis divided all of its {THESIS_NIC_US} us by the clock; with the same fixed part "
        f"they would become {found.thesis_at_24:.1f} us at {THESIS_FACTOR} times the clock, so its factor was right "
        f"for its firmware to within that. Matching on the NIC at {BASE} MHz takes {found.nic[BASE]:.1f} us; a NIC "
        f"that leaves matching to the host comes down to that at {clock}. From {BASE} to {top:g} MHz matching on the "
        f"NIC gains {found.gain(found.nic):.1f} times, matching on the host {found.gain(found.host):.1f} times."
    )


SWEEP = Sweep("a", "clock", "A faster processor on the NIC", points, measure, conclude)
