"""Lab 5: the student's firmware on NICs of real gateware behind a switch, and a host program for each."""

import random
from functools import partial
from pathlib import Path

from lanai_firmware.compiler import build
from lanai_firmware.image import Image
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.bus.base import Bus

from ...kernel.cluster import Cluster
from ...machine.fabrics import describe
from ..task import Values, Wrong

NIC = lanai41()
MOST = 16  # NICs
MICROSECOND = 10**6  # picoseconds, the unit of a bus's clock
BOOTED = 20 * MICROSECOND
PATIENCE = 200 * MICROSECOND  # after the last host has come
CYCLE = 2 * 10**9 // NIC.slot_khz  # picoseconds
ROUTES, TRAP_SITE = "barrier.nic", "__trap_site"
ROUTES_AT = 16  # bytes of the words before `routes`


def prepare() -> None:
    """Build the models of NIC and switches, if the cache does not have them."""
    for count in (2, 4, 8, MOST):
        Cluster(describe("switch", count), NIC).close()


def load(folder: Path) -> Image:
    image = build(folder / "barrier.py", NIC)
    if ROUTES not in image.symbols:
        raise Wrong("barrier.py has no `nic: Global[Nic]`; keep the names of the starting code")
    return image


def run(image: Image, values: Values) -> int:
    """Let `nics` NICs pass `barriers`. Before each, a host computes for up to `apart` microseconds, drawn from
    `seed`. Return the processor cycles from when the last host comes to when all know, of all barriers together."""
    return Play(image, values).run()


class Play:
    """One case.

    Attributes:
        came, left: for each barrier, when each host has come and left, in picoseconds.
    """

    def __init__(self, image: Image, values: Values) -> None:
        self.image, self.count, self.barriers = image, values["nics"], values["barriers"]
        chance = random.Random(values["seed"])
        most = values["apart"] * MICROSECOND
        self.work = [[chance.randint(0, most) for _ in range(self.barriers)] for _ in range(self.count)]
        self.came: list[list[int | None]] = [[None] * self.count for _ in range(self.barriers)]
        self.left: list[list[int | None]] = [[None] * self.count for _ in range(self.barriers)]
        self.wrong = ""
        self.cluster = Cluster(describe("switch", self.count), NIC)

    def run(self) -> int:
        for number in range(self.count):
            self.cluster.spawn(number, partial(self._host, number))
        try:
            self.cluster.run()
        finally:
            self.cluster.close()
        if self.wrong:
            raise Wrong(self.wrong)
        return sum(self._took(barrier) for barrier in range(self.barriers))

    def _took(self, barrier: int) -> int:
        """Return the cycles that a barrier took, behind the last who came. Raises `Wrong` if one did not wait."""
        came, left = ([time or 0 for time in times[barrier]] for times in (self.came, self.left))
        last = max(range(self.count), key=came.__getitem__)
        early = min(range(self.count), key=left.__getitem__)
        if left[early] < came[last]:
            ahead = (came[last] - left[early]) / MICROSECOND
            raise Wrong(f"NIC {early} passes barrier {barrier + 1} {ahead:.1f} us before the host of NIC {last} comes")
        return (max(left) - came[last]) // CYCLE

    def _host(self, number: int, bus: Bus) -> None:
        """The program of one host."""
        self._boot(number, bus)
        for barrier in range(self.barriers):
            bus.elapse(self.work[number][barrier])
            self.came[barrier][number] = bus.now
            bus.write(host_offset("DOORBELL"), 1)
            if not self._passed(number, bus, barrier):
                return
            self.left[barrier][number] = bus.now

    def _boot(self, number: int, bus: Bus) -> None:
        image, fabric = self.image, self.cluster.fabric
        bus.write_block(SRAM_HOST + image.base, image.loaded)
        routes = [fabric.route(number, peer) if peer != number else 0 for peer in range(self.count)]
        at = SRAM_HOST + image.address(ROUTES) + ROUTES_AT
        bus.write_block(at, b"".join(route.to_bytes(4, "big") for route in routes))
        bus.write(host_offset("SCRATCH1"), number)
        bus.write(host_offset("SCRATCH2"), self.count)
        bus.write(host_offset("SCRATCH3"), 0)
        bus.write(host_offset("CONTROL"), int(Control.RUN))
        bus.elapse(BOOTED - bus.now if bus.now < BOOTED else 0)

    def _passed(self, number: int, bus: Bus, barrier: int) -> bool:
        """Ask the NIC until its barrier is passed. False if that never happens, here or at another NIC."""
        while True:
            seen = bus.read(host_offset("SCRATCH3"))
            if seen == barrier + 1:
                return True
            if seen != barrier:
                self._fail(f"NIC {number} counts {seen} barriers passed; its host waits in barrier {barrier + 1}")
            elif self._late(bus, barrier):
                self._fail(self._stuck(barrier))
            if self.wrong:
                return False

    def _late(self, bus: Bus, barrier: int) -> bool:
        came = [time for time in self.came[barrier] if time is not None]
        return len(came) == self.count and bus.now > max(came) + PATIENCE

    def _stuck(self, barrier: int) -> str:
        """Say which NICs do not pass a barrier, and which processors have trapped."""
        waiting = [number for number, time in enumerate(self.left[barrier]) if time is None]
        text = f"barrier {barrier + 1}: all hosts have come, but NIC {_list(waiting)} of {self.count} "
        text += f"{'does' if len(waiting) == 1 else 'do'} not pass it"
        for number in range(self.count):
            [site] = self.cluster.engine.sram(number, [self.image.address(TRAP_SITE)])
            if site:
                return f"{text}; the firmware of NIC {number} stopped: {self.image.trap_text(site)}"
        return text

    def _fail(self, text: str) -> None:
        self.wrong = self.wrong or text


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
