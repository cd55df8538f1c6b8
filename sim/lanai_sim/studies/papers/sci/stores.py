"""Stores through the aperture with gaps between them (SC-03, SC-04, SC-B4): bandwidth by the bytes
of an access and its stride, with and without the processor's write combining."""

from dataclasses import replace

from lanai_hdl.config import NicConfig
from lanai_hdl.machine import PAGE_SIZE
from lanai_hdl.remote.tables import APERTURE_PAGES
from lanai_host.config import pentium3_800

from ...remote_hosts import RemoteHost, idle, play
from ..claims import Figures
from .constants import KIB, MIB

STRIDES = {
    8: (8, 16, 24, 32, 48, 64, 128, 136, 160, 256, 512),
    256: (256, 264, 288, 320, 352, 384, 416, 424, 512, 520),
}
TOTAL = {8: 2 * KIB, 256: 16 * KIB}  # bytes that a run stores
MAPPED = APERTURE_PAGES * PAGE_SIZE  # what a process can have mapped at one time
UNCOMBINED_LINE = 8  # bytes: what a processor without write combining gives the bus at one time


def uncombined(nic: NicConfig) -> NicConfig:
    """The same NIC, whose host stores 8 bytes at a time."""
    return replace(nic, pio_line=UNCOMBINED_LINE)


def strided(host: RemoteHost, access: int, stride: int) -> float:
    """MiB/s of stores of `access` bytes each `stride` bytes, and the barrier behind them."""
    total, places = TOTAL[access], (MAPPED - access) // stride + 1
    data = bytes(access)
    host.remote.store(host.tokens[1], 0, bytes(MAPPED))  # so that all of it is mapped
    host.remote.settle()
    begin = host.bus.now
    for number in range(total // access):
        host.remote.store(host.tokens[1], number % places * stride, data)
    host.remote.settle()
    return total / ((host.bus.now - begin) / 1e12) / MIB


def measured(host: RemoteHost) -> Figures:
    return {
        f"store.{access}.{stride}_mibps": strided(host, access, stride)
        for access, strides in STRIDES.items()
        for stride in strides
    }


def figures(nic: NicConfig) -> Figures:
    """Return figures of a NIC with an aperture: ``combined.store.<access>.<stride>_mibps``, and ``uncombined``."""
    found: Figures = {}
    for name, one in (("combined", nic), ("uncombined", uncombined(nic))):
        result: Figures = play([measured, idle], one, size=2 * MAPPED, costs=pentium3_800())[0]
        found |= {f"{name}.{what}": value for what, value in result.items()}
    return found
