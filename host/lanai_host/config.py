"""The prices of the host's own work, and the driver's choices among ways to move data.

Costs are simulated time, so that a run depends on these numbers and never on the machine that simulates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, StrEnum
from operator import attrgetter
from typing import Any, ClassVar, Self

from lanai_hdl import ranges
from lanai_hdl.errors import UserError

# The prices of a kernel that does the work of an adapter, as MPI/MBCF's does: each command is a system call, and each
# packet interrupts the processor.

SECOND = 10**12  # picoseconds
KERNEL_COSTS = dict.fromkeys(
    ("command_byte", "arrival", "arrival_byte", "wake", "wake_queued", "dequeue", "take"), (0, SECOND)
)


@dataclass(frozen=True)
class KernelCosts:
    """Prices in picoseconds for each unit of work. All are 0 where hardware does the work.

    Attributes:
        command_byte: one byte of a command's first packet, which the kernel copies to the interface.
        arrival: one packet, of data or an answer, that interrupts the processor.
        arrival_byte: one byte of its data, which the kernel copies to where it belongs.
        wake: going on after a wait for a packet.
        wake_queued: the same for a message in a FIFO, beyond `wake`.
        dequeue: a record taken out of a FIFO of the kernel's.
        take: beyond that, a message's bytes.
    """

    RANGES: ClassVar[Mapping[str, ranges.Range]] = KERNEL_COSTS

    command_byte: int = 0
    arrival: int = 0
    arrival_byte: int = 0
    wake: int = 0
    wake_queued: int = 0
    dequeue: int = 0
    take: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, self.RANGES)


class HostCost(Enum):
    """Kinds of host work. The value names the field of `HostCosts` with its price in picoseconds, or the
    field of a table there."""

    CALL = "call"  # entering and leaving one MPI function: arguments checked, handles looked up
    POST = "post"  # composing one request for the NIC
    POLL = "poll"  # looking at a word of host memory that the NIC may have written
    COMPLETE = "complete"  # taking one completion: record decoded, operation marked
    COPY = "copy"  # one byte copied by the processor
    MATCH = "match"  # one envelope compared by the processor, or one look in a hash table (`HostCosts.queue`)
    PIN = "pin"  # one entry to the kernel that pins or unpins
    PIN_PAGE = "pin_page"  # one page locked and translated
    UNPIN_PAGE = "unpin_page"
    REDUCE = "reduce"  # one element combined by the processor
    COMMAND_BYTE = "kernel.command_byte"
    ARRIVAL = "kernel.arrival"
    ARRIVAL_BYTE = "kernel.arrival_byte"
    WAKE = "kernel.wake"
    WAKE_QUEUED = "kernel.wake_queued"
    DEQUEUE = "kernel.dequeue"
    TAKE = "kernel.take"
    CLOCK = "clock"  # reading the clock: MPI_Wtime
    SYSTEM_CALL = "system_call"  # an entry to the kernel that has no price of its own
    ADDRESS_CHECK = "address_check"  # comparing an address with the limits of a process's memory
    FILE_OPEN = "file_open"  # a system call with the name of a file: opening, deleting
    FILE_CALL = "file_call"  # one with an open file
    FILE_BYTE = "file_byte"  # one byte read or written by it
    FILE_SYNC = "file_sync"  # waiting until the disk has it all
    SNAPSHOT = "snapshot"  # one copy of a rank's process, for `lanai run --checkpoint`
    LOG_BYTE = "log_byte"  # one byte sent to a rank, copied to where it can be read again
    RESTART = "restart"  # making a rank anew from its snapshot, beside the work that it does again
    SHORT_BLOCK = "short_block"  # one block of several that is too short for a transaction, stored to remote memory


class Queue(StrEnum):
    """The way in which the host finds a message's receive, or a receive's message."""

    LIST = "list"  # a list in order of age, as MPICH's ADI has it: MATCH for each envelope compared
    HASH = "hash"  # hash tables: MATCH for each look in one


PRICES = {what.value: attrgetter(what.value) for what in HostCost}
OWN_PRICES = tuple(name for name in PRICES if "." not in name)  # fields of `HostCosts` itself
COSTS = {
    **dict.fromkeys(OWN_PRICES, (0, SECOND)),
    HostCost.CLOCK.value: (1, SECOND),  # at least 1: a program may wait for a time by reading the clock
    "pio_write": (0, SECOND),
    "pio_read": (0, SECOND),
    "cpu_scale": (0.0, 1e6),
    "compute": (0, SECOND),
    "jitter": (0.0, 100.0),
    "jitter_seed": (0, 2**32 - 1),
}
RANGES = {
    **COSTS,
    "pio_threshold": (0, 4096),
    "pinned_cache_pages": (0, 2**20),
    "pages_per_entry": (1, 4),
    "watchdog": (0, 1000 * SECOND),
}


@dataclass(frozen=True)
class HostCosts:
    """The prices of host work on any messaging system: picoseconds for each unit of `HostCost`, and bus costs as the
    processor sees them.
    """

    RANGES: ClassVar[Mapping[str, ranges.Range]] = COSTS

    call: int = 300_000
    post: int = 150_000
    poll: int = 100_000
    complete: int = 150_000
    copy: int = 5_000
    match: int = 60_000
    pin: int = 2_000_000
    pin_page: int = 300_000
    unpin_page: int = 200_000
    reduce: int = 15_000
    clock: int = 100_000
    system_call: int = 2_000_000
    address_check: int = 50_000
    file_open: int = 50_000_000
    file_call: int = 5_000_000
    file_byte: int = 20_000  # to or from the kernel's cache; the disk writes behind
    file_sync: int = 10_000_000_000
    snapshot: int = 200_000_000  # a fork, and the pages that are copied when they change
    log_byte: int = 5_000
    restart: int = 2_000_000_000
    kernel: KernelCosts = field(default_factory=KernelCosts)  # an adapter does this work, unless a kernel stands for it
    short_block: int = 0  # an adapter gathers them from a page of this host
    pio_write: int = 30_000  # issuing one posted write; the bus adds what it makes the processor wait
    pio_read: int = 60_000  # issuing one read, beyond the time that the bus takes to answer
    cpu_scale: float = (
        0.0  # measured processor time of the program, times this, is charged too; 0 keeps runs deterministic
    )
    compute: int = 0  # a step of the program's own work, as it is counted; 0: computing takes no time
    jitter: float = 0.0  # each stretch of counted computing is longer by a random part of it, up to this one
    jitter_seed: int = 0  # with the rank, it says which parts: the same seed gives the same run
    queue: Queue = Queue.LIST  # how messages and receives are found on this host

    def __post_init__(self) -> None:
        ranges.check(self, self.RANGES)
        if not isinstance(self.queue, Queue):
            raise UserError(f"{type(self).__name__}.queue={self.queue!r} must be one of {', '.join(Queue)}")

    def price(self, what: HostCost, count: int = 1) -> int:
        """Picoseconds for `count` units of one kind of work."""
        cost: int = PRICES[what._value_](self)  # `value` is a property, and slow for what each message asks for often
        return cost * count

    def but(self, **changes: Any) -> Self:
        """The same host with some costs changed."""
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise UserError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}")
        return replace(self, **changes)


@dataclass(frozen=True)
class HostConfig(HostCosts):
    """A host: what its work costs, and how the drivers of NICs choose among ways to move data."""

    RANGES: ClassVar[Mapping[str, ranges.Range]] = RANGES

    pio_threshold: int = 1024  # sends up to this many bytes are written to the NIC by the processor (NP-41)
    pinned_cache_pages: int = 4096  # pages that stay pinned after use (PM's idea); 0 unpins after each message (NP-49)
    pages_per_entry: int = 4  # of the page table (NP-45); 1 is the thesis's first version
    watchdog: int = 20_000_000_000  # picoseconds of silence after which the driver checks its NIC; 0: never
    ask_first: bool = False  # a receive from one sender asks it for messages not announced yet, as the thesis's (NP-22)
    host_matching: bool = False  # messages meet their receives on the host, as in the thesis's first version (NP-33)
    pio_when_empty: bool = False  # the processor writes a body only if no send to its receiver waits on the NIC (NP-43)
    semaphore: bool = False  # a request is placed under a semaphore of the host's processes: two system calls (NP-54)


def pentium2_266() -> HostConfig:
    """The thesis's hosts (NP-B1): 266 MHz Pentium II, 128 MB, Linux 2.0.35. Pages once pinned stay
    so while there is room."""
    return HostConfig()


def pessimistic() -> HostConfig:
    """The same hosts, with pages pinned and unpinned for every message as the thesis does
    (NP-49)."""
    return HostConfig(pinned_cache_pages=0)


def thesis() -> HostConfig:
    """The same hosts as the thesis ran them: a receive asks its sender (NP-22), the processor writes a body only
    into an empty channel (NP-43), and pages are pinned and unpinned for every message. The price of a page is fitted
    on figure 3.4 alone (mpi-np.s3_6.send_overhead_crossover): a send of 1,024 bytes keeps the host as long by DMA as
    by PIO. Unpinning, which comes later, costs two thirds of it, as in `pentium2_266`. If it is taken to be in that
    figure, the prices are 4.01 and 2.68 us, and 256 KiB move at 87 MB/s instead of 75."""
    return HostConfig(
        pinned_cache_pages=0, ask_first=True, pio_when_empty=True, pin_page=8_690_000, unpin_page=5_790_000
    )


def sparc_sunos() -> HostConfig:
    """A Sun workstation of 1996 with SunOS 4.1.3, as the CCU MPI's measurements have it. `call` is
    fitted, together with `work` of the device's preset `ethernet`, on two bandwidths of that paper
    (ccu.s5_3.bw_8000, ccu.s5_3.bw_16000). The other prices are the default's."""
    return HostConfig(call=350_000_000)


def supersparc_85() -> HostConfig:
    """The hosts of MPI/MBCF (1999): 85 MHz SuperSPARC, SSS-CORE. The kernel does the adapter's work:
    a command is a system call, and each packet interrupts the processor.

    Six are fitted on rows of the paper's tables of its system calls alone, four on rows of its
    round trips. The rest is part of these.
    """
    return HostConfig(
        kernel=KernelCosts(
            command_byte=26_000,
            arrival=4_200_000,
            arrival_byte=36_500,  # mbcf.t2_1.write.1024
            wake=5_490_000,  # mbcf.t2_1.write.4
            wake_queued=12_400_000,  # mbcf.t4_1.nsr.0
            dequeue=5_350_000,  # mbcf.t2_1.fifo.4
            take=10_200_000,  # mbcf.t4_1.nsr.4, and the stream of mbcf.t4_2.nsrf.4
        ),
        post=7_310_000,  # with `kernel.arrival`: mbcf.t2_2.write.4 and write.64
        copy=26_000,  # the same work as `kernel.command_byte`, one constant: mbcf.t2_1.fifo.1024
        call=5_000_000,  # with `complete`: mbcf.t4_1.sr.0
        complete=1_400_000,
        match=0,
        poll=0,
        pio_write=0,
        pio_read=0,
    )


def free() -> HostConfig:
    """A host whose work costs nothing, but for one picosecond to read the clock: what remains is
    the NIC's time."""
    nothing: dict[str, Any] = {name: int(name == HostCost.CLOCK.value) for name in OWN_PRICES}
    return HostConfig(**nothing, pio_write=0, pio_read=0)


def alpha21064() -> HostConfig:
    """A node of the Cray T3D: the Alpha 21064 at 150 MHz runs the library, memory is physical.

    Nothing is pinned. The paper gives no price of any of its software. `call` stands for all that a message
    costs its host beside its bytes. It is fitted on t3d.s4.medium_bandwidth, with `--nic t3d_shell`. The other
    prices are choices. `match` is that of `pentium2_266` by the ratio of the clocks.
    """
    return HostConfig(
        call=56_000_000,
        post=100_000,
        poll=100_000,
        match=106_000,
        copy=10_000,
        pin=0,
        pin_page=0,
        unpin_page=0,
        system_call=20_000_000,
        address_check=100_000,
        pio_write=20_000,
        pio_read=20_000,
    )


def pentium3_800() -> HostConfig:
    """The nodes of SCI-MPICH (2002): 800 MHz Pentium III, ServerSet III LE.

    The paper gives no price of any of its software. `copy` is fitted on sci.s3_4.twice_generic; the
    others are those of `pentium2_266`, at three times its clock."""
    return HostConfig(
        call=100_000,
        post=50_000,
        poll=33_000,
        complete=50_000,
        copy=3_000,
        match=20_000,
        pin=700_000,
        pin_page=100_000,
        unpin_page=67_000,
        reduce=5_000,
        clock=33_000,
        system_call=700_000,
        address_check=17_000,
        short_block=272_000,  # of 8 bytes, at 28 MiB/s: the best of sci.s4_3.strided_write_8
        pio_write=10_000,
        pio_read=20_000,
    )


# Choices of a driver. Each stack names those that it obeys.
CHOICES = frozenset(field.name for field in fields(HostConfig)) - frozenset(field.name for field in fields(HostCosts))

# Fields that only a driver of NICs looks at.
DRIVER_ONLY = frozenset(
    {
        "post", "complete", "pin", "pin_page", "unpin_page", "pio_write", "pio_read", "pio_threshold",
        "pinned_cache_pages", "pages_per_entry", "watchdog", "ask_first", "host_matching",
        "pio_when_empty", "semaphore", "system_call", "address_check", "kernel", "short_block",
    }
)  # fmt: skip

PRESETS = {
    "pentium2_266": pentium2_266,
    "pessimistic": pessimistic,
    "thesis": thesis,
    "sparc_sunos": sparc_sunos,
    "supersparc_85": supersparc_85,
    "free": free,
    "alpha21064": alpha21064,
    "pentium3_800": pentium3_800,
}
