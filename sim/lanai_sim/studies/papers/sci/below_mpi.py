"""Experiments below MPI (SC-B1): puts and gets of two hosts on the gateware by commands of the adapter, and stores and
loads by the processor, which the paper calls PIO."""

from collections.abc import Callable

from lanai_host.config import pentium3_800

from ....machine.presets import sci_d330
from ...benches import remote
from ...remote_hosts import RemoteHost, idle, play
from ..claims import Figures
from .constants import KIB, MIB

SIZES = (8, 16, 32, 64, 128, 256, 1024)
MOVED = 64 * KIB  # bytes of each host's memory
LOADED = 1 * KIB  # those that are loaded for the bandwidth


def by_commands(host: RemoteHost) -> Figures:
    """Latency by size, bandwidth of long puts and gets."""
    found: Figures = {}
    for size in (*SIZES, 4096, 16384):
        found[f"raw.put_us.{size}"] = remote.latency(host, size, get=False)
        found[f"raw.get_us.{size}"] = remote.latency(host, size, get=True)
    for name, get in (("put", False), ("get", True)):
        found[f"raw.{name}_MiBps"] = remote.bandwidth(host, 4 * MOVED, get) * remote.MEGABYTE / MIB
    return found


def by_processor(host: RemoteHost) -> Figures:
    """Latency of stores with their barrier and of loads by size, and bandwidth of long runs of both."""
    token = host.tokens[1]
    found: Figures = {}
    for size in SIZES:
        begin = host.bus.now
        host.remote.store(token, 0, bytes(size))
        host.remote.settle()
        stored = host.bus.now
        host.remote.load(token, 0, size)
        found[f"pio.store_us.{size}"] = (stored - begin) / 1e6
        found[f"pio.load_us.{size}"] = (host.bus.now - stored) / 1e6
    begin = host.bus.now
    host.remote.store(token, 0, bytes(MOVED))
    host.remote.settle()
    stored = host.bus.now
    host.remote.load(token, 0, LOADED)
    found["pio.store_MiBps"] = MOVED / ((stored - begin) / 1e12) / MIB
    found["pio.load_MiBps"] = LOADED / ((host.bus.now - stored) / 1e12) / MIB
    return found


def figures(measured: Callable[[RemoteHost], Figures]) -> Figures:
    """Return what one of two hosts measures while the other is idle."""
    found: Figures = play([measured, idle], sci_d330(), size=MOVED, costs=pentium3_800())[0]
    return found
