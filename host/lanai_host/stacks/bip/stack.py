"""BIP as a messaging system: `lanai run --device bip`."""

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import constants_set, offset_of
from lanai_firmware.programs.bip import state
from lanai_firmware.programs.bip.layout import MOST_NODES, Config, sizes
from lanai_firmware.programs.bip.program import FIRMWARE
from lanai_firmware.programs.bip.receiving import COPIES
from lanai_firmware.programs.bip.sending import PIECES
from lanai_hdl.machine import SRAM_HOST

from ...bus.base import Bus, window_of
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ..base import NicStack, Placement
from ..loader import EPOCH, check_machine, load, new_epoch, reset, start
from .attachment import PRESETS, Attachment, BipOptions

if TYPE_CHECKING:
    from lanai_firmware.image import Image
    from lanai_hdl.config import NicConfig


def config_words(node: int, routes: Sequence[int]) -> bytes:
    """The firmware's `Config` for a NIC with these routes, one to each NIC of the job."""
    words = bytearray(int(offset_of(Config, "routes")))
    for name, value in {"node": node, "nodes": len(routes), "window": window_of(0)}.items():
        struct.pack_into(">I", words, int(offset_of(Config, name)), value)
    return bytes(words) + struct.pack(f">{len(routes)}I", *routes)


class BipStack(NicStack):
    name = "bip"
    help = "a thin firmware, as BIP's (1998): the NIC moves packets, matching on the host; one rank a NIC"
    attachment = Attachment
    firmware = FIRMWARE
    presets = PRESETS
    options_table = "bip"
    host_choices = frozenset({"watchdog", "pinned_cache_pages"})

    def plans(
        self, image: "Image", nic: "NicConfig", options: BipOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        nic_plan = {"nic": image.address(FIRMWARE.symbol("nic")), "nodes": placement.nodes}
        return [nic_plan for _ in range(placement.nodes)]

    def sizes(self, nodes: int) -> Mapping[str, int]:
        return sizes(nodes)

    def check(self, options: BipOptions, placement: Placement) -> None:
        self.check_one_rank_a_nic(placement, MOST_NODES)
        for queue, least in (("hdma_queue", COPIES), ("send_queue", PIECES)):
            depth = getattr(placement.nic, queue)
            if depth < int(least):
                raise UserError(f"bip queues {int(least)} descriptors for a packet, but the NIC has {queue}={depth}")

    def boot(
        self, bus: Bus, image: "Image", options: BipOptions, placement: Placement, node: int
    ) -> Mapping[int, Attachment]:
        check_machine(bus)
        epoch = new_epoch(bus)
        reset(bus)
        load(bus, image)
        nic = image.address(FIRMWARE.symbol("nic"))
        routes = [placement.route(node, other) for other in range(placement.nodes)]
        with constants_set(sizes(placement.nodes)):
            config, border = (nic + int(offset_of(state.Nic, name)) for name in ("config", "border"))
        bus.write_block(SRAM_HOST + config, config_words(node, routes))
        bus.write(EPOCH, epoch)
        start(bus, FIRMWARE, options.boot_polls)
        return {node: Attachment(node, placement.nodes, border, options, epoch=epoch, routes=tuple(routes))}

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Bip

        return Bip(bus, attachment, costs)


STACK = BipStack()
