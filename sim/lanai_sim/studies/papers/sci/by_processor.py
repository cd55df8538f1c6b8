"""Stores and loads of a host on the gateware, below MPI (SC-B1): what the paper calls PIO."""

from lanai_host.config import pentium3_800

from ....machine.presets import sci_d330
from ...remote_hosts import RemoteHost, idle, play
from ..measuring import Figures
from .constants import KIB, MIB

SIZES = (8, 16, 32, 64, 128, 256, 1024)
STORED, LOADED = 64 * KIB, 1 * KIB  # bytes of each host's memory; those that are loaded for the bandwidth


def measured(host: RemoteHost) -> Figures:
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
    host.remote.store(token, 0, bytes(STORED))
    host.remote.settle()
    stored = host.bus.now
    host.remote.load(token, 0, LOADED)
    found["pio.store_MiBps"] = STORED / ((stored - begin) / 1e12) / MIB
    found["pio.load_MiBps"] = LOADED / ((host.bus.now - stored) / 1e12) / MIB
    return found


def run(quick: bool) -> Figures:
    figures: Figures = play([measured, idle], sci_d330(), size=STORED, costs=pentium3_800())[0]
    return figures
