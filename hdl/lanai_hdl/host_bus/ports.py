"""The signatures of the host bus, outside and inside the NIC."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..machine import PAGE_SIZE, PIO_WINDOW_SIZE

PIO_ADDRESS_BITS = (PIO_WINDOW_SIZE - 1).bit_length()
BURST_BITS = (PAGE_SIZE // 4).bit_length()


class PioPort(wiring.Signature):
    """The host's accesses to the NIC's window, seen from the host.

    A word access is taken in a slot with `valid` and `ready`: `addr` (byte offset, word aligned)
    and, to write, `wdata` as the big-endian value of the word with `be` (bit 3 is the byte at
    `addr`). A read is answered by one slot of `rvalid` with `rdata`; the next access is taken after
    that. Writes are posted and stay in order with reads. What the bus costs passes between: the
    host sees it in `ready` and `rvalid`.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "write": Out(1),
                "addr": Out(PIO_ADDRESS_BITS),
                "wdata": Out(32),
                "be": Out(4),
                "rvalid": In(1),
                "rdata": In(32),
            }
        )


class HostMemoryPort(wiring.Signature):
    """The NIC's accesses to host memory, seen from the NIC.

    A word access ("beat") is made in a slot with `valid` and `ready`. Until then it holds, but for a
    reset of the NIC (CONTROL.RESET), which withdraws it. `addr` is a word-aligned bus address,
    `burst` the beats left in this burst, this one included. Every beat, write or read, is answered
    in order by one slot of `rvalid`, in a later slot than the beat's, with `rdata` (big-endian
    value) for a read and `rerror` if the host refused. The time that a host's memory needs for the
    first word of a burst is counted by the NIC (`NicConfig.read_setup`), so an answer in the very
    next slot is normal. An answer may come any number of slots later. It is due after a reset too:
    the NIC discards it, and makes no beat before it has come.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "write": Out(1),
                "addr": Out(32),
                "wdata": Out(32),
                "be": Out(4),
                "burst": Out(BURST_BITS),
                "rvalid": In(1),
                "rdata": In(32),
                "rerror": In(1),
            }
        )


class Burst(data.Struct):
    """`words` consecutive words from bus address 4 * `word`."""

    write: 1
    word: 30
    words: BURST_BITS


class WriteWord(data.Struct):
    """A word to write, with byte enables."""

    data: 32
    be: 4


class ReadWord(data.Struct):
    """A word read; `error` if the host refused."""

    data: 32
    error: 1


class BurstPort(wiring.Signature):
    """An engine's port to host memory, seen from the engine.

    Bursts are run in order. `write` brings a write burst's words, `read` a read burst's; the bus
    waits for an engine that is late with either. `written` reports each word of a write burst that
    the host has answered, `refused` with it an error.
    """

    def __init__(self):
        super().__init__(
            {
                "burst": Out(stream.Signature(Burst)),
                "write": Out(stream.Signature(WriteWord)),
                "read": In(stream.Signature(ReadWord)),
                "written": In(1),
                "refused": In(1),
            }
        )
