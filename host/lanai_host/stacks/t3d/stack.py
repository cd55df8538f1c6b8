"""MPICH on the Cray T3D as a messaging system: `lanai run --device t3d`."""

import struct
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import offset_of
from lanai_firmware.programs.put import state
from lanai_firmware.programs.put.layout import ADAPTIVE, NODES, Config
from lanai_firmware.programs.put.program import FIRMWARE
from lanai_firmware.programs.put_barrier.program import FIRMWARE as WITH_TREE
from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.machine import SRAM_HOST, host_offset
from lanai_hdl.remote.config import Remote

from ...adapter.exposures import pages_of
from ...adapter.opened import OWN_PAGES
from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ...simulator.client import SimulatorClient
from ..base import NicStack, Placement
from ..loader import check_machine, load, reset, start
from ..on_adapter import AdapterStack, with_aperture
from .attachments import AnyAttachment, Attachment, ShellAttachment
from .heap import PRESETS, HeapLayout, T3dOptions
from .puts import Presence
from .trace import SHELL_VOCABULARY, VOCABULARY, heap_plan, plan
from .windows import landings

if TYPE_CHECKING:
    from lanai_firmware.image import Image
    from lanai_firmware.programs import Firmware
    from lanai_hdl.config import NicConfig


# The device on NICs whose remote-memory adapter is the T3D's shell: `--nic t3d_shell`.


class T3dShellStack(AdapterStack):
    """Puts are stores through the adapter's aperture; words of gets, and swaps, are commands. No firmware runs."""

    name = "t3d"
    help = "MPICH on the Cray T3D (1996), with the remote-memory adapter as the shell"
    presets = PRESETS
    options_table = "t3d"
    attachment = ShellAttachment
    host_choices = frozenset({"watchdog", "pinned_cache_pages"})
    vocabulary = SHELL_VOCABULARY

    def plans(
        self, image: None, nic: "NicConfig", options: T3dOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        return [heap_plan(HeapLayout(placement.ranks, options)) for _ in range(placement.nodes)]

    def equip(self, nic: "NicConfig") -> "NicConfig":
        return with_aperture(nic)

    def check(self, options: T3dOptions, placement: Placement) -> None:
        self.check_one_rank_a_nic(placement, int(NODES))
        if options.adaptive:
            raise UserError(
                "t3d: adaptive=yes is not for NICs with the remote-memory adapter, which keeps the order of puts; take "
                "NICs without it, such as --nic t3e"
            )
        if options.status == "first":
            raise UserError(
                "t3d: status=first is not for NICs with the remote-memory adapter: the host sees a header's first line "
                "before the second has come, so messages that cross are lost; take NICs without it, such as --nic t3d"
            )
        if any(isinstance(block, BarrierTree) for block in placement.nic.blocks):
            raise UserError(
                "t3d: the barrier tree is served by firmware, and none runs beside the remote-memory adapter; leave "
                "one of the two blocks out"
            )
        heap = HeapLayout(placement.ranks, options).size + Presence.room(placement.ranks)
        left = self.adapter(placement).pages - OWN_PAGES - pages_of(0, heap)
        if landings(left) < 1:
            raise UserError(
                f"t3d: the heap of a rank among {placement.ranks} leaves {left} entries of the adapter's page table, "
                "too few for long messages; choose smaller options, such as --option short=512, or more entries "
                "(--nic-option remote.pages=512)"
            )

    def device(self, bus: Bus, attachment: AnyAttachment, costs: HostConfig, members: Sequence[int]) -> Device:
        return _device(bus, attachment, costs)


def _device(bus: Bus, attachment: AnyAttachment, costs: HostConfig) -> Device:
    from .device import T3d

    return T3d(bus, attachment, costs)


SHELL = T3dShellStack()


def _has_tree(nic: "NicConfig") -> bool:
    return any(isinstance(block, BarrierTree) for block in nic.blocks)


def _firmware(nic: "NicConfig") -> "Firmware":
    return WITH_TREE if _has_tree(nic) else FIRMWARE


def config_words(routes: Sequence[int]) -> bytes:
    """The firmware's `Config` for a NIC with these routes, one to each NIC of the job."""
    words = bytearray(int(offset_of(Config, "routes")))
    struct.pack_into(">I", words, int(offset_of(Config, "nodes")), len(routes))
    return bytes(words) + struct.pack(f">{len(routes)}I", *routes)


class T3dStack(NicStack):
    name = "t3d"
    help = "MPICH on the Cray T3D (1996): puts into slots, matching on the receiver's host; one rank a NIC"
    attachment = Attachment
    firmware = FIRMWARE
    presets = PRESETS
    options_table = "t3d"
    host_choices = frozenset({"watchdog", "pinned_cache_pages"})
    vocabulary = VOCABULARY

    def on(self, blocks: Collection[str]) -> NicStack:
        """By firmware, or by the remote-memory adapter if the NICs have one."""
        return SHELL if Remote.name in blocks else self

    def plans(
        self, image: "Image", nic: "NicConfig", options: T3dOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        layout = HeapLayout(placement.ranks, options)
        return [plan(image.address(FIRMWARE.symbol("nic")), layout) for _ in range(placement.nodes)]

    def check(self, options: T3dOptions, placement: Placement) -> None:
        self.check_one_rank_a_nic(placement, int(NODES))

    def image(self, nic: "NicConfig", options: T3dOptions | None = None, nodes: int = 1) -> "Image":
        return _firmware(nic).image(nic)

    def boot(
        self, bus: Bus, image: "Image", options: T3dOptions, placement: Placement, node: int
    ) -> Mapping[int, Attachment]:
        check_machine(bus)
        reset(bus)
        load(bus, image)
        nic = image.address(FIRMWARE.symbol("nic"))
        routes = [placement.route(node, other) for other in range(placement.nodes)]
        bus.write_block(SRAM_HOST + nic + int(offset_of(state.Nic, "config")), config_words(routes))
        bus.write(host_offset("SCRATCH1"), node)
        bus.write(host_offset("SCRATCH2"), ADAPTIVE if options.adaptive else 0)
        start(bus, _firmware(placement.nic), options.boot_polls)
        border = nic + int(offset_of(state.Nic, "border"))
        return {
            node: Attachment(node, placement.nodes, border, options, _has_tree(placement.nic), routes=tuple(routes))
        }

    def open(self, client: SimulatorClient, costs: HostConfig) -> Device:
        return SHELL.open(client, costs) if "places" in client.config["nic"] else super().open(client, costs)

    def device(self, bus: Bus, attachment: AnyAttachment, costs: HostConfig, members: Sequence[int]) -> Device:
        return _device(bus, attachment, costs)


STACK = T3dStack()
