"""One NIC: registers, and engines that act when a test lets them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from lanai_firmware.lang import Machine, RegisterBus
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.machine import Event, HostDmaStart, SendStart, Status, Verdict, local_address


class HostMemory:
    """Host memory as the bus sees it: runs of bytes at bus addresses."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, memoryview]] = []

    def add(self, address: int, view: memoryview) -> None:
        self.runs.append((address, view))

    def remove(self, address: int) -> None:
        self.runs = [run for run in self.runs if run[0] != address]

    def at(self, address: int, size: int) -> memoryview:
        """The bytes at a bus address; raises if no memory is there."""
        for start, view in self.runs:
            if start <= address and address + size <= start + len(view):
                return view[address - start : address - start + size]
        raise IndexError(f"host DMA of {size} bytes at bus address {address:#x}, where nothing is")


NAMES = (
    "ISR",
    "WAIT",
    "DOORBELL",
    "SCRATCH0",
    "SCRATCH1",
    "SCRATCH2",
    "CYCLES",
    "TIMER",
    "HDMA_HOST",
    "HDMA_LOCAL",
    "HDMA_LENGTH",
    "HDMA_START",
    "HDMA_STATUS",
    "HDMA_DONE",
    "HDMA_POINTER",
    "SEND_ROUTE",
    "SEND_POINTER",
    "SEND_LENGTH",
    "SEND_START",
    "SEND_STATUS",
    "SEND_DONE",
    "RECV_CURRENT",
    "RECV_DONE",
    "RECV_WATERMARK",
    "RECV_POINTER",
    "RECV_LIMIT",
    "RECV_STATUS",
    "RECV_LENGTH",
    "RECV_BUFFER",
    "RECV_VERDICT",
)
BY_ADDRESS = {local_address(name): name for name in NAMES}


@dataclass
class Packet:
    """On a wire, behind its route."""

    route: int
    data: bytes
    verdict: int = int(Verdict.VALID)


@dataclass
class Nic(RegisterBus):
    """One NIC: its memory, its registers, its engines' queues."""

    memory: HostMemory
    turn_of: Callable[[], object]  # a firmware function: what the processor does until it waits, or could
    config: NicConfig = field(default_factory=lanai41)  # the depths of its queues
    machine: Machine = field(init=False)
    isr: int = 0
    doorbell: int = 0
    wait: int = 0
    latch: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    # the oldest has left the queue: it is under way
    copies: deque[tuple[int, int, int, int]] = field(default_factory=deque)
    copied: int = 0
    sends: deque[tuple[int, int, int, int]] = field(default_factory=deque)
    sent: int = 0
    packet: bytearray = field(default_factory=bytearray)
    checked: bool = False  # the packet has passed a CHECK flit
    wire: deque[Packet] = field(default_factory=deque)
    buffers: deque[tuple[int, int]] = field(default_factory=deque)
    arrived: deque[tuple[int, int, int]] = field(default_factory=deque)
    polls: int = 0
    bus_errors: int = 0
    armed: bool = False
    credit: int = 0  # bytes that chasing sends may take
    unsound: deque[tuple[int, int]] = field(
        default_factory=deque
    )  # bytes fed in all, before and after what is not sound
    fed: int = 0
    taken: int = 0
    arriving: tuple[int, int, Packet] | None = None  # start, limit of its buffer
    ticks: int = 0
    stopped: bool = False  # the host DMA, behind its oldest descriptor, which failed

    def __post_init__(self) -> None:
        self.machine = Machine(registers=self)

    # Registers, as the firmware sees them.

    def read(self, address: int) -> int:
        name = BY_ADDRESS[address]
        self.polls = self.polls + 1 if name.startswith("HDMA") else 0
        if self.polls > 8 and self.copies and not self.stopped:  # the firmware waits: let the engines go on
            if not self.may_copy():
                self.finish()
            self.copy()
        if name == "ISR":
            return self.events()
        if name == "DOORBELL":
            return self.doorbell
        if name == "HDMA_STATUS":
            free = self.config.hdma_queue - max(len(self.copies) - 1, 0)
            return free | (int(Status.STOPPED) if self.stopped else 0)
        if name == "HDMA_DONE":
            return self.copied
        if name == "SEND_STATUS":
            return self.config.send_queue - len(self.sends)
        if name == "SEND_DONE":
            return self.sent
        if name == "RECV_STATUS":
            free = self.config.recv_queue - len(self.buffers)
            return free | (int(Status.BUSY | Status.CHECKED) if self.arriving else 0)
        if name == "RECV_DONE":
            return self.latch[name]
        if name == "RECV_CURRENT":
            return self.arriving[0] if self.arriving else 0
        if name.startswith("RECV_") and self.arrived:
            start, length, verdict = self.arrived[0]
            return {"RECV_BUFFER": start, "RECV_LENGTH": length, "RECV_VERDICT": verdict}[name]
        return 0 if name == "RECV_VERDICT" else self.latch[name]

    def write(self, address: int, value: int) -> None:
        name = BY_ADDRESS[address]
        self.polls = 0
        self.latch[name] = value
        if name == "ISR":
            self.isr &= ~value
            if value & Event.HOST_DMA_ERROR and self.stopped:
                self.complete()
        elif name == "TIMER":
            self.armed = bool(value)
        elif name == "DOORBELL":
            self.doorbell &= ~value
        elif name == "WAIT":
            self.wait = value
        elif name == "HDMA_START":
            assert len(self.copies) <= self.config.hdma_queue, "host DMA queue overflow"
            get = self.latch.__getitem__
            self.copies.append((get("HDMA_HOST"), get("HDMA_LOCAL"), get("HDMA_LENGTH"), value))
        elif name == "SEND_START":
            assert len(self.sends) < self.config.send_queue, "send DMA queue overflow"
            get = self.latch.__getitem__
            self.sends.append((get("SEND_ROUTE"), get("SEND_POINTER"), get("SEND_LENGTH"), value))
        elif name == "RECV_LIMIT":
            assert len(self.buffers) < self.config.recv_queue, "receive buffer queue overflow"
            self.buffers.append((self.latch["RECV_POINTER"], value))
        elif name == "RECV_VERDICT":
            self.arrived.popleft()

    def events(self) -> int:
        levels = (Event.RECV_DONE if self.arrived else 0) | (Event.DOORBELL if self.doorbell else 0)
        levels |= Event.RECV_PROGRESS if self.arriving and self.latch["RECV_WATERMARK"] else 0
        return self.isr | int(levels)

    # What may happen next.

    def runnable(self) -> bool:
        return not self.wait or bool(self.events() & self.wait)

    def turn(self) -> None:
        self.wait = 0
        with self.machine:
            self.turn_of()

    def may_copy(self) -> bool:
        """Is there a descriptor, and does it not follow a packet that is still arriving?"""
        if not self.copies or self.stopped:
            return False
        _, local, _, start = self.copies[0]
        if not start & HostDmaStart.FOLLOW or self.arriving is None:
            return True
        first, limit, _ = self.arriving
        return not first <= local < limit

    def may_send(self) -> bool:
        """Is there a descriptor, and is what it chases here?"""
        return bool(self.sends) and (not self.sends[0][3] & SendStart.CHASE or self.credit >= self.sends[0][2])

    def copy(self) -> None:
        """The host DMA does its oldest descriptor."""
        host, local, length, start = self.copies[0]
        sram = self.machine.sram
        self.latch["HDMA_POINTER"] = local + length
        try:
            view = self.memory.at(host, length)
            if start & HostDmaStart.TO_SRAM:
                sram[local : local + length] = view
            else:
                view[:] = sram[local : local + length]
        except IndexError:
            self.bus_errors += 1
            if start & HostDmaStart.FEED:
                self.unsound.append((self.fed, self.fed + length))
            self.isr |= Event.HOST_DMA_ERROR
            self.stopped = bool(start & HostDmaStart.STOP)
        if start & HostDmaStart.FEED:
            self.credit += length
            self.fed += length
        if not self.stopped:
            self.complete()

    def complete(self) -> None:
        """The oldest descriptor is done, well or not."""
        self.stopped = False
        self.copies.popleft()
        self.copied = (self.copied + 1) & 0xFFFFFFFF
        self.isr |= Event.HOST_DMA_DONE

    def send(self) -> None:
        """The send DMA does its oldest descriptor."""
        route, pointer, length, start = self.sends.popleft()
        if start & SendStart.FIRST:
            self.packet, self.checked = bytearray(), False
        verdict = Verdict.VALID
        if start & SendStart.CHASE:
            self.credit -= length
            self.taken += length
            while self.unsound and self.unsound[0][0] < self.taken:
                self.unsound.popleft()
                verdict |= Verdict.CRC
        self.packet += self.machine.sram[pointer & -4 : (pointer & -4) + ((length + 3) & -4)]
        if start & SendStart.CHECK:
            self.checked = True
        if start & SendStart.LAST:
            self.wire.append(Packet(route, bytes(self.packet), int(verdict | (Verdict.CHECKED if self.checked else 0))))
        self.sent = (self.sent + 1) & 0xFFFFFFFF
        self.isr |= Event.SEND_DONE

    def accepts(self) -> bool:
        return bool(self.buffers) and len(self.arrived) < self.config.completions and self.arriving is None

    def accept(self, packet: Packet) -> None:
        """The receive DMA takes a packet from the wire: all of it, or first as much as the firmware
        wants to know of."""
        start, limit = self.buffers.popleft()
        self.arriving = (start, limit, packet)
        part = self.latch["RECV_WATERMARK"]
        if not part or len(packet.data) < part:
            self.finish()
        else:
            self.machine.sram[start : start + part] = packet.data[:part]

    def finish(self) -> None:
        """The packet that was arriving is whole."""
        assert self.arriving is not None
        start, limit, packet = self.arriving
        self.arriving = None
        data = packet.data[: limit - start]
        verdict = packet.verdict if len(data) == len(packet.data) else int(Verdict.VALID | Verdict.OVERRUN)
        self.machine.sram[start : start + len(data)] = data
        self.arrived.append((start, len(data), verdict))
        self.latch["RECV_DONE"] = (self.latch["RECV_DONE"] + 1) & 0xFFFFFFFF

    def tick(self) -> None:
        """The timer's time has come."""
        self.armed = False
        self.ticks += 1
        self.isr |= Event.TIMER

    # The host's programmed I/O.

    def pio_write(self, offset: int, data: bytes) -> None:
        self.machine.sram[offset : offset + len(data)] = data

    def pio_read(self, offset: int, size: int) -> bytes:
        return bytes(self.machine.sram[offset : offset + size])

    def ring(self, bits: int) -> None:
        self.doorbell |= bits
