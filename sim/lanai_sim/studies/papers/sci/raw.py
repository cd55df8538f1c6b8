"""Experiments below MPI: puts and gets of two hosts on the gateware (SC-B1, SC-B4)."""

from lanai_host.config import pentium3_800

from ....kernel.remote_hosts import RemoteHost, idle, play
from ....machine.presets import sci_d330
from ...benches import remote
from ..measuring import Figures
from .constants import KIB, MIB

SIZES = (8, 16, 32, 64, 128, 256, 1024, 4096, 16384)
STRIDES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 200, 256, 288, 320, 384, 512, 520)
STRIDED_BYTES = {8: 512, 256: 16 * KIB}  # that a run writes, by the bytes of an access
BYTES = 64 * KIB  # of each host's memory


async def measured(host: RemoteHost) -> Figures:
    """Latency by size, bandwidth of long puts and gets, and of puts with gaps between."""
    found: Figures = {}
    for size in SIZES:
        found[f"raw.put_us.{size}"] = await remote.latency(host, size, get=False)
        found[f"raw.get_us.{size}"] = await remote.latency(host, size, get=True)
    for name, get in (("put", False), ("get", True)):
        found[f"raw.{name}_MiBps"] = await remote.bandwidth(host, 4 * BYTES, get) * remote.MEGABYTE / MIB
    for access, total in STRIDED_BYTES.items():
        for stride in STRIDES:
            if stride >= access:
                found[f"raw.strided.{access}.{stride}"] = await strided(host, access, stride, total)
    return found


async def strided(host: RemoteHost, access: int, stride: int, total: int) -> float:
    """MiB/s of puts of `access` bytes each `stride` bytes."""
    begin = host.bus.now
    places = host.size // stride
    for number in range(total // access):
        await host.remote.put(host.tokens[1], number % places * stride, host.address, access)
    await host.remote.settle()
    return total / ((host.bus.now - begin) / 1e12) / MIB


def run(quick: bool) -> Figures:
    figures: Figures = play([measured, idle], sci_d330(), size=BYTES, costs=pentium3_800())[0]
    return figures
