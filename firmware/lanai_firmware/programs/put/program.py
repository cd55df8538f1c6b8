"""The put firmware as one object."""

from lanai_hdl.words import NOTHING, Judged, Names, judged

from ..base import Firmware
from . import state
from .layout import READY, Ask, Border, Config, Header, Request

OPEN = "the ranks of a job may reach all of each other's hosts"
JUDGES: Judged = {
    Request: {
        "spare": NOTHING,
        "inline": NOTHING,
        "node": judged(Names.PEER, "sending.is_sound"),
        "address": judged(Names.ADDRESS, unjudged=OPEN),
        "length": judged(Names.LENGTH, "sending.is_sound"),
        "source": judged(Names.ADDRESS, unjudged=OPEN),
        "number": judged(Names.INDEX, "sending.has_request", times="once"),
    },
    Header: {
        "address": judged(Names.ADDRESS, unjudged=OPEN),
        "length": judged(Names.LENGTH, "receiving.take", "answering.get", of="the bytes that come, a GET's"),
        "number": judged(Names.PEER, "receiving.expected", "answering.keep")
        + judged(Names.INDEX, "receiving.expected", times="once"),
    },
    Ask: {
        "result": judged(Names.ADDRESS, unjudged=OPEN),
        "operand": NOTHING,
    },
    Border: {"requests": NOTHING, "heap": judged(Names.ADDRESS, unjudged=OPEN), "released": NOTHING},
    Config: "the driver",
}

FIRMWARE = Firmware(name="put", module=f"{__package__}.main", memory=state.__name__, ready=READY, judges=JUDGES)
