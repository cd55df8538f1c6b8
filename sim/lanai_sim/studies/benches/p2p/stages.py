"""The time of one small expected message by stage (NP-B5), from waveforms of both NICs.

The message is cut at what can be seen from outside: the request's doorbell, the packet's HEAD
leaving, its TAIL arriving, the word of host memory that the receiver waits for, the call's return.
The processors' work between these is split by function, from their retire ports.
"""

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanai_firmware.image import Image
from lanai_hdl.link.flit import Kind

from ....waves import sample
from .pair import PAUSE, Buffer, Setting, Side, play

NIC = "TOP.lanai_nic.nic."
SIGNALS = {
    "tx": "link_tx__kind",
    "rx": "link_rx__kind",
    "rings": "doorbell.rings",
    "mem_valid": "mem__valid",
    "mem_write": "mem__write",
    "valid": "processor.retire.valid",
    "pc": "processor.retire.pc",
    "address": "processor.retire.address",
    "access": "processor.retire.access",
    "store": "processor.retire.store",
    "waiting": "events.waiting",
    "cpu": "lbus.used.cpu",
    "hdma": "lbus.used.hdma",
    "pio": "lbus.used.pio",
    "recv": "lbus.used.recv",
    "send": "lbus.used.send",
}
BEFORE, WINDOW = 64, 4000  # slots of the waveform before the call, and in all


@dataclass(frozen=True)
class View:
    """One NIC's waveform: a value a slot, from slot `first` on."""

    first: int
    signals: dict[str, NDArray[np.uint64]]

    def __getitem__(self, name: str) -> NDArray[np.uint64]:
        return self.signals[name]

    def slots(self, what: NDArray[np.bool_], begin: int = 0) -> list[int]:
        """In which slots, from `begin` on, something holds."""
        return [int(slot) for slot in np.flatnonzero(what) + self.first if slot >= begin]

    def between(self, what: NDArray[np.bool_], begin: int, end: int) -> int:
        """In how many slots of [begin, end)."""
        return int(what[max(0, begin - self.first) : max(0, end - self.first)].sum())


@dataclass(frozen=True)
class Watched:
    """One 4-byte message: two waveforms, and when host calls began and ended (slots, fractions
    kept)."""

    views: tuple[View, View]
    image: Image
    called: float
    placed: float
    returned: float
    slot_us: float


def view(path: Path, half_ps: int) -> View:
    times, values = sample(path, [NIC + name for name in SIGNALS.values()])
    first = int(times[0]) // (2 * half_ps)
    return View(first, {short: values[NIC + name] for short, name in SIGNALS.items()})


def watch(setting: Setting, size: int = 4, window: int = WINDOW) -> Watched:
    """Send one message from rank 0 to a receive that is posted, and look on."""
    khz = setting.nic.slot_khz
    half = 500_000_000 // khz

    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.vcd" for number in range(2)]

        def program(side: Side) -> tuple[Image, float, float]:
            buffer = Buffer(size)
            cluster = side.stage.cluster
            for number in range(2):  # the first one pins
                side.meet()
                if side.rank:
                    operation = side.receive(buffer)
                    side.finish(operation)
                    end = side.now
                    continue
                side.pause()
                if number:
                    slot = cluster.engine.time.slot(side.now + PAUSE)
                    for nic, file in enumerate(files):
                        cluster.engine.wave(nic, file, slot - BEFORE, slot - BEFORE + window)
                side.pause()
                begin = side.now
                operation = side.send(buffer)
                end = side.now
                side.finish(operation)
            side.pause()
            return side.stage.image, (0 if side.rank else begin) * khz / 1e9, end * khz / 1e9

        (image, called, placed), (_, _, returned) = play(setting, program, trace=True)
        views = (view(files[0], half), view(files[1], half))
    return Watched(views, image, called, placed, returned, 1000 / khz)


@dataclass(frozen=True)
class Stages:
    """A message's time, microseconds. The first five add up to all of it."""

    host_send: float  # from the call until the NIC has the request
    nic_send: float  # until its first flit leaves
    wire: float  # until its last one arrives
    nic_receive: float  # until the host's word is written
    host_receive: float  # until the receiver's call returns
    tidy_send: float  # the sending NIC's processor at work after the last flit has left
    tidy_receive: float  # the receiving one's after the word was written
    functions: dict[str, float]  # processors' time between request and word, by function

    @property
    def whole(self) -> float:
        return self.host_send + self.nic_send + self.wire + self.nic_receive + self.host_receive

    @property
    def nic_share(self) -> float:
        """Percent of the time that the NICs' processing takes."""
        return 100 * (self.nic_send + self.nic_receive) / self.whole


def cut(seen: Watched) -> Stages:
    """The stages of a watched message."""
    sender, receiver = seen.views
    rang = sender.slots(sender["rings"] != 0, int(seen.called))[0]
    left = sender.slots(sender["tx"] == Kind.HEAD.value, rang)[0]
    gone = sender.slots(sender["tx"] == Kind.TAIL.value, left)[0]
    came = receiver.slots(receiver["rx"] == Kind.TAIL.value, left)[0]
    written = [
        slot
        for slot in receiver.slots((receiver["mem_valid"] != 0) & (receiver["mem_write"] != 0), came)
        if slot < seen.returned
    ][-1]
    us = seen.slot_us
    functions: Counter[str] = Counter()
    for number, (nic, begin, end) in enumerate(((sender, rang, left), (receiver, came, written))):
        for name, slots in by_function(nic, seen.image, begin, end).items():
            functions[f"{'send' if number == 0 else 'receive'}.{name}"] += slots
    return Stages(
        host_send=(rang - seen.called) * us,
        nic_send=(left - rang) * us,
        wire=(came - left) * us,
        nic_receive=(written - came) * us,
        host_receive=(seen.returned - written) * us,
        tidy_send=sender.between(sender["waiting"] == 0, gone, gone + WINDOW) * us,
        tidy_receive=receiver.between(receiver["waiting"] == 0, written, written + WINDOW) * us,
        functions={name: slots * us for name, slots in sorted(functions.items())},
    )


def by_function(nic: View, image: Image, begin: int, end: int) -> Counter[str]:
    """Slots of [begin, end) in which the processor worked for each function, inlined ones too: the
    time up to each retiring belongs to its instruction."""
    found: Counter[str] = Counter()
    last = begin
    for slot in nic.slots(nic["valid"] != 0, begin):
        if slot >= end:
            break
        pc = int(nic["pc"][slot - nic.first])
        spent = slot - last - nic.between(nic["waiting"] != 0, last, slot)
        found[image.where(pc).function.rsplit(".", 1)[-1]] += spent
        last = slot
    return found


def figures(stages: Stages) -> dict[str, float]:
    found = {f"p2p.stage_us.{name}": value for name, value in vars(stages).items() if isinstance(value, float)}
    found |= {f"p2p.function_us.{name}": value for name, value in stages.functions.items()}
    return found | {"p2p.stage_us.whole": stages.whole, "p2p.nic_share_percent": stages.nic_share}
