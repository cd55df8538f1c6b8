"""Thin or thick: the thesis's own question. The same hosts, NICs and programs, with BIP's firmware and with
MPI-NP's."""

from lanai_host.stacks.bip.options import BipOptions

from ...benches.p2p import stages, traffic
from ...benches.p2p.pair import Buffer, Setting, Side, play
from ...sweeps.point import nic_at
from ..measuring import Figures
from .constants import thesis

SIZES = (4, 64, 200, 256, 260, 512, 1024, 2048, 4096, 16384, 65536)
LARGE = (262144,)
HIDDEN = (4, 1024, 65536)


def thin(setting: Setting) -> Setting:
    """The same machine with BIP."""
    return setting.but(thin=BipOptions())


def measure(quick: bool) -> Figures:
    """Latency, bandwidth and overhead as the thesis times them, on its hosts; what a program hides; and what a
    faster NIC brings."""
    sizes = SIZES if quick else SIZES + LARGE
    figures: Figures = {}
    for size, trip in traffic.trips(thin(thesis()), sizes, 1 if quick else 3).items():
        figures[f"bip.latency_us.{size}"] = trip.one_way
        figures[f"bip.send_overhead_us.{size}"] = trip.send
        figures[f"bip.bandwidth_MBps.{size}"] = trip.rate(size)
    figures |= below_mpi()
    for mhz in (33, 133):
        fast = traffic.trips(thin(Setting(nic=nic_at(mhz))), (4,), 3)
        figures[f"bip.clock_us.{mhz}"] = fast[4].one_way
    for name, setting in (("bip", thin(thesis())), ("thesis", thesis())):
        for size in HIDDEN:
            figures |= {f"{name}.{key}.{size}": value for key, value in lost(setting, size).items()}
    return figures


def below_mpi() -> Figures:
    """Four bytes by BIP alone, as far as that can be told apart: the library's work costs its hosts nothing. The NICs'
    part of it. And the same with MPI's prices, on a bus that is twice as fast."""
    chosen = thin(thesis())
    alone = chosen.but(host=chosen.host.but(call=0, match=0, complete=0, copy=0))
    parts = stages.cut(stages.watch(alone))
    quick_bus = chosen.but(nic=chosen.nic.but(host_bus_khz=2 * chosen.nic.host_bus_khz))
    return {
        "bip.alone_us.4": traffic.trips(alone, (4,), 3)[4].one_way,
        "bip.nic_us": parts.nic_send + parts.nic_receive,
        "bip.fast_bus_us.4": traffic.trips(quick_bus, (4,), 3)[4].one_way,
    }


def lost(setting: Setting, size: int) -> Figures:
    """Time that a message takes from a program that computes for longer than the message is under way: the calls
    that begin and end it, and what is left of it then. By side, in microseconds."""

    def run(side: Side) -> float:
        buffer, spent = Buffer(size), 0
        for _ in range(2):  # the first one pins, if pages stay pinned
            side.meet()
            work = 2_000_000_000
            began = side.now
            operation = side.receive(buffer) if side.rank else side.send(buffer)
            side.compute(work)
            side.finish(operation)
            spent = side.now - began - work
        return spent / 1e6

    sender, receiver = play(setting, run)
    return {"lost_us.send": sender, "lost_us.receive": receiver}
