"""The host DMA as a queue of transfers, done in order. A transfer that fails is counted by the hardware and passed over."""

from lanai_firmware.lang import Const, firmware, i32, inline, u32
from lanai_hdl.machine import HostDmaStart

from ...nic.registers import FREE, HDMA_DONE, HDMA_HOST, HDMA_LENGTH, HDMA_LOCAL, HDMA_START, HDMA_STATUS
from .state import nic

FROM_HOST: Const[u32] = u32(int(HostDmaStart.TO_SRAM))
TO_HOST: Const[u32] = u32(int(HostDmaStart.TO_HOST))


@inline
def room() -> u32:
    """Transfers that the queue takes now."""
    return HDMA_STATUS.load() & FREE


@firmware
def transfer(host: u32, local: u32, length: u32, direction: u32) -> None:
    """Queue one; there must be room."""
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(length)
    HDMA_START.store(direction)
    nic.transfers += 1


@inline
def done(count: u32) -> bool:
    """Whether the first `count` transfers are done."""
    return i32(HDMA_DONE.load() - count) >= 0
