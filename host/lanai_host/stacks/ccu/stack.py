"""The CCU MPI as a messaging system: `lanai run --device ccu`."""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import constants_set, offset_of, sizeof
from lanai_firmware.programs.ccu import state
from lanai_firmware.programs.ccu.layout import CLIENTS, MOST_NODES, TARGETS, Config, group_words, sizes
from lanai_firmware.programs.ccu.program import FIRMWARE
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import Bus, window_of
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ...plain import restored
from ...simulator.client import SimulatorClient
from ..base import NicStack, Placement
from ..health import examine
from ..loader import check_machine, load, reset, start
from .attachment import Attachment, Place
from .options import PRESETS, CcuOptions
from .trace import VOCABULARY, plan

if TYPE_CHECKING:
    from lanai_firmware.image import Image
    from lanai_firmware.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig


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
        "resend_all": options.resend_all,
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
    return placement.broadcasts and bool(options.broadcast) and placement.nodes <= int(TARGETS)


class CcuStack(NicStack):
    name = "ccu"
    help = "the CCU MPI (1996): a multicast daemon a node, reliable over networks that lose packets; --fabric segment"
    attachment = Attachment
    firmware = FIRMWARE
    presets = PRESETS
    options_table = "ccu"

    @property
    def vocabulary(self) -> "Vocabulary | None":
        return VOCABULARY

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
        longest_turn = (options.away + options.work * PACKETS) * MICROSECOND
        return {
            rank: Attachment(rank, places, shared, window_of(client), *same, routes, longest_turn)
            for client, rank in enumerate(placement.ranks_on(node))
        }

    def examine(
        self, bus: Bus, attachment: Attachment, place: Callable[[int], str], before_reset: Callable[[], None]
    ) -> str | None:
        return examine(bus, attachment, place, before_reset)

    def open(self, client: SimulatorClient, costs: HostConfig) -> Device:
        from ...simulator.rank_bus import RankBus
        from .device import Ccu

        return Ccu(RankBus(client, costs), restored(Attachment, client.config["nic"]), costs)


def _way_out(ranks: int) -> str:
    """Return how so many ranks can run all the same, as an advice."""
    per_node = -(-ranks // MOST_NODES)
    if per_node > int(CLIENTS):
        return f"start at most {MOST_NODES * int(CLIENTS)} ranks, {int(CLIENTS)} on a NIC (--ranks-per-node)"
    return f"put more ranks on a NIC (--ranks-per-node {per_node})"


STACK = CcuStack()
