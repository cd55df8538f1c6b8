"""Experiments below MPI: puts and gets of two hosts on the gateware (SC-B1)."""

from lanai_host.config import pentium3_800

from ....machine.presets import sci_d330
from ...benches import remote
from ...remote_hosts import RemoteHost, idle, play
from ..measuring import Figures
from .constants import KIB, MIB

SIZES = (8, 16, 32, 64, 128, 256, 1024, 4096, 16384)
BYTES = 64 * KIB  # of each host's memory


def measured(host: RemoteHost) -> Figures:
    """Latency by size, bandwidth of long puts and gets."""
    found: Figures = {}
    for size in SIZES:
        found[f"raw.put_us.{size}"] = remote.latency(host, size, get=False)
        found[f"raw.get_us.{size}"] = remote.latency(host, size, get=True)
    for name, get in (("put", False), ("get", True)):
        found[f"raw.{name}_MiBps"] = remote.bandwidth(host, 4 * BYTES, get) * remote.MEGABYTE / MIB
    return found


def run(quick: bool) -> Figures:
    figures: Figures = play([measured, idle], sci_d330(), size=BYTES, costs=pentium3_800())[0]
    return figures
