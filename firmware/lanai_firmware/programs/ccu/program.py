"""The daemon as one object."""

from lanai_hdl.words import NOTHING, Judged, Names, judged

from ..base import Firmware
from . import state
from .layout import READY, Border, Client, Config, Packet, SendSlot, Status

JUDGES: Judged = {
    SendSlot: {
        "clients": judged(Names.PEER, "dispatch.deliver", of="at each node"),
        "nodes": judged(Names.PEER, "sending.take_next"),
        "number": judged(Names.INDEX, "sending.take_next", times="once"),
    },
    Client: {
        "slots": NOTHING,
        "stage": NOTHING,
        "read": judged(Names.INDEX, "dispatch.read_next"),
        "released": NOTHING,
    },
    Border: {"clients": NOTHING, "counts": NOTHING},
    Packet: {
        "kind": judged(Names.PEER, "receiving.receive", of="node") + judged(Names.LENGTH, "receiving.take_data"),
        "targets": judged(Names.PEER, "receiving.take_data")
        + judged(Names.PEER, "dispatch.deliver", of="clients")
        + judged(Names.INDEX, "receiving.admit", of="number", times="once"),
        "tag": NOTHING,
        "length": judged(Names.LENGTH, "sending.content_length", of="of a rank")
        + judged(Names.LENGTH, "receiving.take_data", of="of another daemon"),
        "content": NOTHING,
    },
    "an acknowledgement": {
        "expected": judged(Names.INDEX, "acks.take_ack"),
        "maps": judged(Names.INDEX, "acks.acknowledged", times="once"),
    },
    Status: "the daemon",
    Config: "the driver",
}

FIRMWARE = Firmware(name="ccu", module=f"{__package__}.main", memory=state.__name__, ready=READY, judges=JUDGES)
