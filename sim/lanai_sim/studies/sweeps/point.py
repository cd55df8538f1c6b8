"""One point of a sweep: plain names and values, and the `Setting` that they mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.config import NicConfig, lanai41
from lanai_host.config import HostConfig, pentium2_266

from ...executors.journal import Point, Row
from ..benches.p2p.pair import Setting
from ..drawing import Plot

__all__ = ["Conclusion", "Figures", "Point", "Row", "Sweep", "grid", "line", "nic_at", "setting"]

Figures = dict[str, float]


@dataclass(frozen=True)
class Conclusion:
    """The conclusion of a sweep: a few figures, a paragraph that states them, plots by file name."""

    figures: Figures
    paragraph: str
    plots: dict[str, Plot] = field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """A study: which points, what is measured at each, what follows from all. `revision` grows when
    `measure` comes to measure something else: rows of the old one then count no more."""

    letter: str
    name: str
    title: str
    points: Callable[[bool], list[Point]]
    measure: Callable[[Point], Figures]
    conclude: Callable[[Sequence[Row]], Conclusion]
    revision: int = 1


def grid(**axes: Sequence[Any]) -> list[Point]:
    """All combinations."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def line(rows: Sequence[Row], x: str, y: str, **where: Any) -> dict[float, float]:
    """Figure `y` against axis `x`, of the rows whose points agree with `where`."""
    chosen = [row for row in rows if all(row.point.get(key) == value for key, value in where.items())]
    return {float(row.point[x]): row.figures[y] for row in chosen if y in row.figures}


def nic_at(megahertz: float) -> NicConfig:
    """The NIC of 1999 with another processor clock. The LBUS runs at two slots a cycle, as ever;
    host bus and link keep their rates, and the cable its delay in nanoseconds."""
    nic = lanai41()
    factor = round(megahertz * 2000) / nic.slot_khz
    latency = max(8, round(nic.link_latency * factor))
    fifo = 16
    while fifo < max(nic.rx_fifo, 2 * latency + 12):
        fifo *= 2
    return nic.but(slot_khz=round(megahertz * 2000), link_latency=latency, rx_fifo=fifo)


def setting(
    host: Mapping[str, Any] | None = None, mcp: Mapping[str, Any] | None = None, megahertz: float = 33
) -> Setting:
    """The usual setting, with some parameters changed."""
    hosts: HostConfig = pentium2_266().but(**(host or {}))
    return Setting(hosts, McpConfig().but(**(mcp or {})), lanai41() if megahertz == 33 else nic_at(megahertz))
