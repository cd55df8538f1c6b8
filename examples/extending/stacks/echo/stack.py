"""`echo` as a messaging system: `lanai run --device echo`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanai_firmware.image import Image
from lanai_firmware.programs import Firmware
from lanai_hdl import ranges

from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ..base import NicStack, Placement
from ..loader import load, reset, start
from . import layout
from .transport import Attachment, PacketTransport

FIRMWARE = Firmware(name="echo", module=f"{__package__}.firmware", ready=layout.READY)


@dataclass(frozen=True)
class EchoOptions:
    """`boot_polls`: looks, a microsecond apart, until the firmware must be ready."""

    boot_polls: int = 1000

    def __post_init__(self) -> None:
        ranges.check(self, {"boot_polls": (1, 1_000_000)})


class EchoStack(NicStack):
    name = "echo"
    help = "an example: one packet at a time, each acknowledged"
    attachment = Attachment
    firmware = FIRMWARE
    presets = {"default": EchoOptions}
    options_table = "echo"

    def check(self, options: EchoOptions, placement: Placement) -> None:
        self.check_one_rank_a_nic(placement, layout.RANKS)

    def boot(
        self, bus: Bus, image: Image, options: EchoOptions, placement: Placement, node: int
    ) -> Mapping[int, Attachment]:
        reset(bus)
        load(bus, image)
        start(bus, FIRMWARE, options.boot_polls)
        nodes = range(placement.nodes)
        there = tuple(placement.route(node, other) for other in nodes)
        back = tuple(placement.route(other, node) for other in nodes)
        return {node: Attachment(node, back, routes=there)}

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from ..ideal.device import IdealDevice

        return IdealDevice(attachment.rank, len(attachment.routes), PacketTransport(bus, attachment), costs)


STACK = EchoStack()
