"""The parameters of one NIC: everything that a study would vary, in one validated, hashable
object."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Self

from .block_config import BlockConfig, HostWindow
from .csr.machine import Machine
from .errors import UserError
from .machine import machine_with
from .numbers import Scaled
from .ranges import check_power_of_two, check_within

KIB = 1024
MIB = 1024 * KIB
SLACK, ROOM = 4, 8  # flits of the receive FIFO: for the link's registers; before STOP
# Numbers that only scale time (`Scaled`), with their ranges. Others may bound them further.
SETUP = (1, 255)
RANGES = {
    "slot_khz": (1, 4_000_000),
    "link_kbytes": (1, 4 * 4_000_000),
    "link_latency": (1, 512),
    "host_bus_khz": (1, 4_000_000),
    "max_burst": (4, 4 * KIB),
    "pio_line": (4, 4 * KIB),
    "read_setup": SETUP,
    "write_setup": SETUP,
    "pio_read_setup": SETUP,
    "pio_write_setup": SETUP,
    "latency_timer": SETUP,
    "pio_turn": SETUP,
}


class BlockedAction(Enum):
    """The fate of a packet that has waited too long (NP-19)."""

    DROP = "drop"  # the packet is discarded and counted
    RESET = "reset"  # the NIC resets itself, as the 1999 hardware did


@dataclass(frozen=True)
class NicConfig(Scaled):
    """Parameters of one NIC.

    Clocks are in kHz, rates in kB/s, latencies in slots, sizes in bytes unless a name says
    otherwise.
    """

    slot_khz: int = 66_000  # two slots a processor cycle
    sram_size: int = MIB
    link_kbytes: int = 160_000
    link_latency: int = 8  # one way; what the receiver's slack is sized for
    rx_fifo: int = 64  # flits
    hdma_queue: int = 4
    send_queue: int = 4
    recv_queue: int = 4
    completions: int = 4
    host_bus_khz: int = 33_000
    host_bus_bits: int = 32
    max_burst: int = 1024  # bytes; bursts also end at multiples of this address, hence never cross a page
    read_setup: int = (
        8  # host bus clocks before a read burst's first word: arbitration, address, turn-around, first-word latency
    )
    write_setup: int = 4  # ... a write burst's: arbitration, address
    pio_read_setup: int = 6  # ... a PIO read's data, beyond the NIC's own time
    pio_write_setup: int = 3  # ... a PIO write's first word of each line
    pio_line: int = 32  # combined writes end at multiples of this (NP-59)
    latency_timer: int = 32  # clocks that a master's burst may run on while PIO waits
    pio_turn: int = 32  # clocks that a master waits before it goes ahead of PIO
    blocked_slots: int = 0  # a packet waiting this long for a buffer is given up; 0: never
    blocked_action: BlockedAction = BlockedAction.DROP
    blocks: tuple[BlockConfig, ...] = ()  # optional blocks

    def __post_init__(self) -> None:
        check_within(self, "slot_khz", *RANGES["slot_khz"])
        check_power_of_two(self, "sram_size", 4 * KIB, MIB)
        check_within(self, "link_kbytes", 1, 4 * self.slot_khz)
        check_within(self, "link_latency", *RANGES["link_latency"])
        check_power_of_two(self, "rx_fifo", 16, 4096)
        if self.rx_fifo < self.rx_slack + ROOM:
            raise UserError(
                f"rx_fifo={self.rx_fifo} cannot hold what is in flight at link_latency={self.link_latency}; "
                f"take at least {self.rx_slack + ROOM}"
            )
        for queue in ("hdma_queue", "send_queue", "recv_queue", "completions"):
            check_within(self, queue, 1, 64)
        check_within(self, "host_bus_khz", 1, self.slot_khz)
        if self.host_bus_bits != 32:
            raise UserError(f"host_bus_bits={self.host_bus_bits} is not offered; take 32 and a faster host_bus_khz")
        for size in ("max_burst", "pio_line"):
            check_power_of_two(self, size, *RANGES[size])
        for count in ("read_setup", "write_setup", "pio_read_setup", "pio_write_setup", "latency_timer", "pio_turn"):
            check_within(self, count, *RANGES[count])
        check_within(self, "blocked_slots", 0, 2**31)
        self._check_blocks()

    def _check_blocks(self) -> None:
        if not isinstance(self.blocks, tuple) or not all(isinstance(block, BlockConfig) for block in self.blocks):
            raise UserError(f"blocks={self.blocks!r} must be a tuple of block configurations, such as (Matching(),)")
        names = [block.name for block in self.blocks]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"blocks has {name!r} {names.count(name)} times; a NIC has at most one of each")
        windows = [block.name for block in self.blocks if block.host_window is not None]
        if len(windows) > 1:
            raise UserError(f"blocks: {' and '.join(windows)} both want a part of the host's window; one may have it")
        taps = [block.name for block in self.blocks if block.taps_link]
        if len(taps) > 1:
            raise UserError(f"blocks: {' and '.join(taps)} both want to stand on the link; one may")
        self._check_first_bytes()
        for block in self.blocks:
            block.check(self)
        try:
            _ = self.machine
        except ValueError as error:
            raise UserError(f"blocks: {error}") from error

    def _check_first_bytes(self) -> None:
        taken: dict[int, str] = {}
        for block in self.blocks:
            for byte in block.first_bytes:
                if not 0 <= byte <= 0xFF:
                    raise UserError(f"blocks: first byte {byte!r} of {block.name!r} must be from 0 to 255")
                first = taken.setdefault(byte, block.name)
                if first != block.name:
                    raise UserError(
                        f"blocks: {first!r} and {block.name!r} both receive packets whose first byte is {byte:#04x}"
                    )

    @property
    def fixed(self) -> bool:
        """An optional block may have been built for the present numbers."""
        return not all(block.takes_numbers for block in self.blocks)

    def greatest(self) -> Mapping[str, int]:
        most = (self.rx_fifo - SLACK - ROOM) // 2  # slots of latency, for this FIFO
        return {name: min(high, most) if name == "link_latency" else high for name, (_, high) in RANGES.items()}

    def derived(self) -> Mapping[str, int]:
        return {"flit_slots": 4 * RANGES["slot_khz"][1]}

    @property
    def flit_slots(self) -> int:
        """Slots from one flit of a busy link to the next, if that is the same for all."""
        return -(-4 * self.slot_khz // self.link_kbytes)

    @property
    def machine(self) -> Machine:
        """The registers, events and counters of this NIC, those of its optional blocks included."""
        return machine_with(*(block.all_declared for block in self.blocks))

    @property
    def host_window(self) -> HostWindow | None:
        """The part of the host's window that an optional block serves."""
        return next((block.host_window for block in self.blocks if block.host_window is not None), None)

    @property
    def rx_slack(self) -> int:
        """Flits that may still come after STOP was raised: both ways of the link and its registers,
        a flit a slot."""
        return 2 * self.link_latency + SLACK

    @property
    def edge_bytes_per_second(self) -> int:
        """Bytes that one edge of the LBUS (every other slot) carries a second: the bound of each DMA engine."""
        return 1000 * self.slot_khz * 4 // 2

    def but(self, **changes: Any) -> Self:
        """The same NIC with some parameters changed."""
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise UserError(f"NicConfig has no parameter {name!r}; it has {', '.join(sorted(known))}")
        return replace(self, **changes)


def lanai41() -> NicConfig:
    """The testbed of 1999 (NP-B1): LANai 4.1, 33 MHz, no cache, 1 MB SRAM, 160 MB/s link, 32-bit 33
    MHz host bus."""
    return NicConfig()


def small_fpga() -> NicConfig:
    """The same NIC with SRAM that fits the block RAM of an ECP5-85 close together, so that the slot
    clock is not lost in wires."""
    return NicConfig(sram_size=128 * KIB)


PRESETS = {"lanai41": lanai41, "small_fpga": small_fpga}
