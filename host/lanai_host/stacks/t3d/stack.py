"""MPICH on the Cray T3D as a messaging system: `lanai run --device t3d`."""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put import main, state
from lanai_firmware.programs.put.layout import (
    ADAPTIVE,
    BODY,
    BUS,
    KIND_AT,
    KIND_MASK,
    LENGTH,
    NODES,
    RING,
    Border,
    Config,
    Header,
    Kind,
    Request,
)
from lanai_firmware.programs.put.program import FIRMWARE
from lanai_firmware.programs.put.state import BUFFERS, Incoming, Nic, Outgoing
from lanai_firmware.programs.put_barrier.program import FIRMWARE as WITH_TREE
from lanai_firmware.vocabulary import MESSAGE_SLOTS, Part, Places, Puts, SeenPut, Table, Touch
from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.machine import SRAM_HOST, host_offset
from lanai_hdl.remote.config import Remote

from ...adapter import trace
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
from .heap import HEADER, LONG, PRESETS, REPLY, WORD, HeapLayout, T3dOptions
from .puts import Presence
from .windows import landings, name_of

if TYPE_CHECKING:
    from lanai_firmware.image import Image
    from lanai_firmware.programs import Firmware
    from lanai_hdl.config import NicConfig


# The vocabulary by which traces read the puts of `t3d`: the place to which a put goes tells what it means.


HEAD_WORDS = int(sizeof(Header)) // WORD.size
SEEN = 7  # words of a packet that traces keep
QUESTIONS = 8  # types of questions are their kinds and this


class Type(IntEnum):
    """The type of a packet."""

    SHORT = Part.SHORT
    LONG = Part.LONG
    REPLY = Part.REPLY
    BYTES = Part.BYTES
    ARRIVED = Part.ARRIVED
    FREED = Part.FREED
    REST = Part.REST
    HEAP = QUESTIONS  # put anywhere else in the heap
    GET = QUESTIONS + Kind.GET
    SWAP = QUESTIONS + Kind.SWAP
    ADD = QUESTIONS + Kind.ADD
    FENCE = QUESTIONS + Kind.FENCE
    ANSWER = QUESTIONS + Kind.ANSWER


def plan(nic: int, layout: HeapLayout) -> dict[str, int]:
    """Return where the firmware's memory and the parts of a heap are."""
    return {"nic": nic, **heap_plan(layout)}


def heap_plan(layout: HeapLayout) -> dict[str, int]:
    """Return where the parts of a heap are."""
    return {
        "slots": layout.slot(0),
        "slot_size": layout.slot_size,
        "status": layout.slot_size - HEADER.size + layout.status,
        "mode": layout.slot_size - HEADER.size + (0 if layout.status else WORD.size),
        "flags": layout.flag(0),
        "replies": layout.reply(0),
        "reply_size": layout.reply_size,
        "arrivals": layout.arrival(0),
        "end": layout.nothing,
    }


def see(words: Sequence[int], plan: Mapping[str, Any]) -> SeenPut:
    """A packet by its first words."""
    address, length, number = words[:HEAD_WORDS]
    source, size = number >> 16 & int(NODES) - 1, length & int(LENGTH)
    kind = length >> int(KIND_AT) & int(KIND_MASK)
    if kind != Kind.PUT:
        return SeenPut(source, QUESTIONS + kind)
    if length & int(BUS):
        return SeenPut(source, int(Part.BYTES), Part.BYTES, address, size, -1, None)
    return see_in_heap(source, address, size, words[HEAD_WORDS:], plan)


def see_in_heap(source: int, address: int, size: int, content: Sequence[int], plan: Mapping[str, Any]) -> SeenPut:
    """A put into the heap by its first words."""
    found = _in_heap(address, size, content, plan)
    if found is None:
        return SeenPut(source, Type.HEAP, address=address, length=size)
    part, reply, first, announces = found
    return SeenPut(source, int(part), part, address, size, reply, first, announces)


def _in_heap(
    address: int, size: int, content: Sequence[int], plan: Mapping[str, Any]
) -> tuple[Part, int, int | None, bool] | None:
    """Return the part of the heap that a put writes, the number of the reply structure, the first address in it, and
    whether it is a part of the header of a long message."""
    if plan["slots"] <= address < plan["flags"]:
        part, is_long = _in_slot((address - plan["slots"]) % plan["slot_size"], size, content, plan)
        return part, -1, None, is_long
    if plan["flags"] <= address < plan["replies"]:
        return Part.FREED, -1, None, False
    if plan["replies"] <= address < plan["arrivals"]:
        number, offset = divmod(address - plan["replies"], plan["reply_size"])
        if offset < plan["reply_size"] - REPLY.size:
            return Part.REPLY, number, content[0], False
        return Part.REST, number, None, False
    return (Part.ARRIVED, -1, None, False) if plan["arrivals"] <= address < plan["end"] else None


def _in_slot(offset: int, size: int, content: Sequence[int], plan: Mapping[str, Any]) -> tuple[Part, bool]:
    """Message and header are one put where puts keep their order. The part with the status counts. The header of a
    long message stands alone, so that its mode is among the first words."""
    place = (plan["mode"] - offset) // WORD.size
    is_long = 0 <= place < len(content) and offset <= plan["mode"] < offset + size and content[place] == LONG
    if not offset <= plan["status"] < offset + size:
        return Part.REST, is_long
    return (Part.LONG if is_long else Part.SHORT), is_long


def packets(op: int, length: int) -> int:
    """A put is cut into packets; a question is one."""
    return max(1, -(-length // int(BODY))) if op == Kind.PUT else 1


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Return the tables in the firmware's memory.

    The firmware polls at a request's number, so only reads of the bytes before it show that the firmware handles the
    request.
    """
    nic = plan["nic"]
    incoming, outgoing, request = int(sizeof(Incoming)), int(sizeof(Outgoing)), int(sizeof(Request))
    requests = nic + int(offset_of(Nic, "border")) + int(offset_of(Border, "requests"))
    number = int(offset_of(Request, "number"))
    return [
        Table(Touch.SLOT, requests, int(RING), request, 0, number),
        Table(Touch.STAGE, nic + int(offset_of(Nic, "outgoing")), BUFFERS, outgoing, 0, outgoing),
        Table(Touch.BUFFER, nic + int(offset_of(Nic, "incoming")), BUFFERS, incoming, 0, incoming),
    ]


def bodies(plan: Mapping[str, Any]) -> range:
    """The buffers of packets."""
    nic = plan.get("nic", 1 << 32)
    return range(nic + int(offset_of(Nic, "outgoing")), nic + int(offset_of(Nic, "asks")))


VOCABULARY = Puts(
    header=Header,
    types=Type,
    tables=tables,
    bodies=bodies,
    spilled=lambda plan: range(0),
    cut_through=None,
    scheduler=f"{main.__name__}.{main.turn.__name__}",
    slots=int(RING),
    see=see,
    packets=packets,
    answers=frozenset({int(Type.ANSWER)}),
    rooms=(MESSAGE_SLOTS,),
)


# The vocabulary by which traces read the puts of `t3d` that the shell carries out: writes of the adapter.

HEAP = 0  # a rank's exposure that is its heap


def see_shell(
    words: Sequence[int], exposure: int, offset: int, length: int, source: int, plan: Mapping[str, Any]
) -> SeenPut:
    """A write to the heap, or to a window by its name."""
    if exposure == HEAP:
        return see_in_heap(source, offset, length, words, plan)
    return SeenPut(source, int(Part.BYTES), Part.BYTES, name_of(exposure, offset), length, -1)


SHELL_VOCABULARY = replace(trace.VOCABULARY, messages=Places(see_shell), rooms=(MESSAGE_SLOTS,))


# The device on NICs whose remote-memory adapter is the T3D's shell: `--nic t3d_shell`.


class T3dShellStack(AdapterStack):
    """Puts are stores through the adapter's aperture; gets and swaps are commands. No firmware runs."""

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
