"""The CCU MPI as a messaging system: `lanai run --device ccu`."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import Struct, constants_set, offset_of, sizeof, u32
from lanai_firmware.programs.ccu import layout, main, state
from lanai_firmware.programs.ccu.layout import (
    CLIENTS,
    CONTENT,
    MOST_NODES,
    NUMBERS,
    SLOTS,
    TARGETS,
    Config,
    group_words,
    sizes,
)
from lanai_firmware.programs.ccu.program import FIRMWARE
from lanai_firmware.programs.ccu.state import Shared
from lanai_firmware.vocabulary import Fragments, Room, SeenFragment, Table, Touch
from lanai_hdl import ranges
from lanai_hdl.errors import UserError
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import Bus, window_of
from ...config import HostConfig
from ...device import Device
from ..base import NicStack, Placement
from ..loader import check_machine, load, reset, start
from .daemon import Attachment, Place
from .messages import HEADER, SOURCE, Kind

if TYPE_CHECKING:
    from lanai_firmware.image import Image
    from lanai_hdl.config import NicConfig


# The options of `ccu`.

RANGES = {
    "packet": (64, int(CONTENT)),
    "window": (1, int(NUMBERS) - 1),
    "ack_every": (1, 1000),
    "ack_timer": (0, 10_000_000),
    "timeout": (10, 10_000_000),
    "retries": (1, 1_000_000),
    "datagram": (0, int(CONTENT) * int(SLOTS)),
    "work": (0, 100_000),
    "system_buffer": (0, 1_000_000),
    "present": (0, 10_000_000),
    "away": (0, 10_000_000),
    "boot_polls": (1, 1_000_000),
}


@dataclass(frozen=True)
class CcuOptions:
    """Times in microseconds.

    Attributes:
        packet: bytes of a packet that the library cuts messages into (CC-15).
        window: packets of a pair of nodes that may be unacknowledged (CC-12).
        ack_every: a node acknowledges each so many packets of a pair (CC-10).
        ack_timer: it also acknowledges packets so long after it took them. 0: it does not, as in
            the paper (CC-G1).
        timeout: a packet not acknowledged for so long is sent again (CC-G2: the paper names no
            value).
        retries: timeouts of a packet after which its nodes are given up. The paper never gives up.
        resend_all: a packet is sent again to all its nodes; no: to those that lack it (CC-09: not said).
        broadcast: use the broadcast of a fabric that has one (CC-14); no: a packet for each node.
        datagram: bytes that are one datagram, as UDP has them: its packets leave together,
            are acknowledged together, and the next waits for that; `window` then has no part. 0:
            each packet is its own.
        work: what each packet, or datagram, costs the daemon's processor beyond its own
            instructions.
        system_buffer: bytes of packets that wait until the daemon reads them (CC-12). Packets that
            find it full are lost. 0: as many packets as the NIC's receive queue holds.
        present, away: after each `present` microseconds the daemon loses its processor for `away`
            to other processes of its workstation, on nodes with an odd number. away=0: never.
        stay: packets stay in a rank's ring until a receive wants them, so that nothing is copied which is received
            in order (CC-18); no: each call takes all that have come.
        boot_polls: looks, a microsecond apart, until the daemon must be ready.
    """

    packet: int = int(CONTENT)
    window: int = 25
    ack_every: int = 25
    ack_timer: int = 200
    timeout: int = 2000
    retries: int = 100
    resend_all: bool = False
    broadcast: bool = True
    datagram: int = 0
    work: int = 0
    system_buffer: int = 0
    present: int = 0
    away: int = 0
    stay: bool = True
    boot_polls: int = 1000

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if 0 < self.system_buffer < self.packet:
            raise UserError(
                f"CcuOptions.system_buffer={self.system_buffer} holds no packet of {self.packet} bytes; "
                "take more, or 0 for no limit of its own"
            )
        if 0 < self.datagram < self.packet or self.datagram > self.packet * int(SLOTS):
            raise UserError(
                f"CcuOptions.datagram={self.datagram} must be 0, or 1 to {int(SLOTS)} packets of {self.packet} bytes"
            )


def ethernet() -> CcuOptions:
    """For an Ethernet of 10 Mbit/s between workstations of 1996.

    `work` is fitted, together with `call` of the host `sparc_sunos`, on the bandwidths of PingPong
    at 8,000 and 16,000 bytes (ccu.s5_3.bw_8000, ccu.s5_3.bw_16000). `timeout` is more than a window
    of 25 packets takes, `ack_timer` a quarter of it; the paper has no values.
    """
    return CcuOptions(
        packet=1300, ack_timer=50_000, timeout=200_000, work=150, system_buffer=32_768, boot_polls=100_000
    )


def lam() -> CcuOptions:
    """A stand-in for LAM of 1994: a daemon that sends a datagram and waits for its acknowledgement,
    and no broadcast (ccu.s1.lam_stop_and_wait). A datagram has up to 8,192 bytes
    (ccu.s5_3.lam_single_message)."""
    return replace(ethernet(), window=1, ack_every=1, broadcast=False, datagram=8192)


def mpich() -> CcuOptions:
    """A stand-in for MPICH of 1994 over TCP: no broadcast (ccu.s1.mpich_tcp), windows of three
    packets, which is a socket buffer of 4 kB, and an acknowledgement for every other packet, as TCP
    has."""
    return replace(ethernet(), window=3, ack_every=2, broadcast=False)


PRESETS = {"default": CcuOptions, "ethernet": ethernet, "lam": lam, "mpich": mpich}


# The vocabulary by which traces read the packets of `ccu`: parts of messages, and acknowledgements.


class Type(IntEnum):
    """The type of a packet."""

    DATA = int(layout.DATA)
    ACK = int(layout.ACK)


class Head(Struct):
    """The words in front of a packet's content, if it is for one node."""

    kind: u32
    target: u32
    tag: u32
    length: u32


def see(words: Sequence[int]) -> SeenFragment:
    """Return a packet as its first words tell it. In front of `tag`, length and content is a word for each target."""
    first, *rest = words
    source, count = first & 0xFFFF, first >> 16 & 0xFF
    if first >> 24 != layout.DATA:
        expects = rest[0] & 0xFFFF if first >> 24 == layout.ACK and rest else None
        return SeenFragment(source, first >> 24, expects=expects)
    targets = tuple((word >> 24, word >> 16 & 0xFF, word & 0xFFFF) for word in rest[:count])
    if len(rest) <= count:
        return SeenFragment(source, Type.DATA, targets)
    tag, content = rest[count], rest[count + 2 :]
    begins = bool(tag & int(layout.MPI_HEAD))
    ends = bool(tag & int(layout.MPI_TAIL))
    envelope = _envelope(content) if begins else None
    return SeenFragment(source, Type.DATA, targets, tag & SOURCE, begins, ends, envelope)


def _envelope(content: Sequence[int]) -> tuple[int, int] | None:
    """Return context and tag of a message of the program."""
    raw = b"".join(struct.pack(">I", word) for word in content[: HEADER.size // 4])
    if len(raw) < HEADER.size:
        raw = raw.ljust(HEADER.size, b"\0") if len(raw) >= 8 else b""
    if not raw:
        return None
    kind, context, tag, *_ = HEADER.unpack(raw)
    return None if kind == Kind.TAKEN else (context, tag)


def plan(shared: int, nodes: int) -> dict[str, int]:
    """Return where the pools are in the memory, from `shared` on, that the daemon shares with its ranks."""
    with constants_set(layout.sizes(nodes)):
        return {"packets": shared + int(offset_of(Shared, "packets"))}


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Return the pools of packets. Nothing tells which message the daemon works on, so no read of them counts."""
    size = int(sizeof(layout.Packet))
    return [Table(Touch.BUFFER, plan["packets"], int(layout.ENTRIES), size, 0, 0)]


WINDOW = Room(
    "window in use", "packets", "packets to other nodes that have left and are not acknowledged", of_nodes=True
)
VOCABULARY = Fragments(
    header=Head,
    types=Type,
    tables=tables,
    bodies=lambda plan: range(0),  # DMA goes to the ranks' rings, from which they copy
    spilled=lambda plan: range(0),
    cut_through=None,
    scheduler=f"{main.__name__}.{main.turn.__name__}",
    slots=0,
    see=see,
    local=lambda plan: True,
    rooms=(WINDOW,),
)


MICROSECOND = 1_000_000  # picoseconds
PACKETS = 16  # of a turn, each with its `work`: those in the receive queue, and those that leave


def config_words(options: CcuOptions, placement: Placement, node: int, slot_khz: int) -> bytes:
    """The daemon's `Config` for one node."""
    with constants_set(sizes(placement.nodes)):
        return _config_words(options, placement, node, slot_khz)


def _config_words(options: CcuOptions, placement: Placement, node: int, slot_khz: int) -> bytes:

    def cycles(microseconds: int) -> int:
        return microseconds * slot_khz // 2000

    values = {
        "node": node,
        "clients": len(placement.ranks_on(node)),
        "window": options.window,
        "ack_every": options.ack_every,
        "ack_timer": cycles(options.ack_timer),
        "timeout": cycles(options.timeout),
        "retries": options.retries,
        "resend_all": int(options.resend_all),
        "broadcast": int(multicasts(options, placement)),
        "datagrams": int(options.datagram > 0),
        "work": cycles(options.work),
        "buffers": options.system_buffer // options.packet,
        "present": cycles(options.present),
        "away": cycles(options.away),
    }
    words = bytearray(int(sizeof(Config)))
    for name, value in values.items():
        struct.pack_into(">I", words, int(offset_of(Config, name)), value)
    nodes = group_words((1 << placement.nodes) - 1)
    struct.pack_into(f">{len(nodes)}I", words, int(offset_of(Config, "nodes")), *nodes)
    for other in range(placement.nodes):
        struct.pack_into(">I", words, int(offset_of(Config, "routes")) + 4 * other, placement.route(node, other))
    for client in range(len(placement.ranks_on(node))):
        struct.pack_into(">I", words, int(offset_of(Config, "memory")) + 4 * client, window_of(client))
    return bytes(words)


def multicasts(options: CcuOptions, placement: Placement) -> bool:
    """Return whether a packet goes to several nodes at once: a route word has a bit for each of 16."""
    return placement.broadcasts and options.broadcast and placement.nodes <= int(TARGETS)


class CcuStack(NicStack):
    name = "ccu"
    help = "the CCU MPI (1996): a multicast daemon a node, reliable over networks that lose packets; --fabric segment"
    attachment = Attachment
    firmware = FIRMWARE
    presets = PRESETS
    options_table = "ccu"
    vocabulary = VOCABULARY

    def plans(
        self, image: "Image", nic: "NicConfig", options: CcuOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        return [plan(image.address(FIRMWARE.symbol("shared")), placement.nodes)] * placement.nodes

    def sizes(self, nodes: int) -> Mapping[str, int]:
        return sizes(nodes)

    def check(self, options: CcuOptions, placement: Placement) -> None:
        if placement.nodes > MOST_NODES:
            raise UserError(f"ccu has room for {MOST_NODES} nodes, not {placement.nodes}; {_way_out(placement.ranks)}")
        if placement.max_ranks_per_nic > int(CLIENTS):
            raise UserError(
                f"ccu serves {int(CLIENTS)} ranks a node, not {placement.max_ranks_per_nic}; put fewer ranks on a NIC "
                "(--ranks-per-node K)"
            )

    def boot(
        self, bus: Bus, image: "Image", options: CcuOptions, placement: Placement, node: int
    ) -> Mapping[int, Attachment]:
        check_machine(bus)
        reset(bus)
        load(bus, image)
        with constants_set(sizes(placement.nodes)):
            config = image.address(FIRMWARE.symbol("daemon")) + int(offset_of(state.Daemon, "config"))
        slot_khz = bus.read(host_offset("SLOT_KHZ"))
        bus.write_block(SRAM_HOST + config, config_words(options, placement, node, slot_khz))
        start(bus, FIRMWARE, options.boot_polls)
        places = tuple(
            Place(placement.node_of(rank), placement.ranks_on(placement.node_of(rank)).index(rank))
            for rank in range(placement.ranks)
        )
        shared = image.address(FIRMWARE.symbol("shared"))
        routes = tuple(placement.route(node, other) for other in range(placement.nodes))
        same = (options.packet, options.datagram, multicasts(options, placement), options.stay)
        turn = (options.away + options.work * PACKETS) * MICROSECOND
        return {
            rank: Attachment(rank, places, shared, window_of(client), *same, turn, routes=routes)
            for client, rank in enumerate(placement.ranks_on(node))
        }

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Ccu

        return Ccu(bus, attachment, costs)


def _way_out(ranks: int) -> str:
    """Return how so many ranks can run all the same, as an advice."""
    per_node = -(-ranks // MOST_NODES)
    if per_node > int(CLIENTS):
        return f"start at most {MOST_NODES * int(CLIENTS)} ranks, {int(CLIENTS)} on a NIC (--ranks-per-node)"
    return f"put more ranks on a NIC (--ranks-per-node {per_node})"


STACK = CcuStack()
