"""The BIP firmware as one object."""

from lanai_hdl.words import NOTHING, Judged, Names, judged

from ..base import Firmware
from . import state
from .layout import READY, Border, Config, Header, Landing, Long, Request
from .trace import VOCABULARY

JUDGES: Judged = {
    Request: {
        "body": NOTHING,
        "what": judged(Names.PEER, "sending.send_short") + judged(Names.LENGTH, "sending.send_short"),
        "number": NOTHING,
    },
    Landing: {
        "pages": judged(Names.ADDRESS, "receiving.store_run"),
        "spare": NOTHING,
        "first": judged(Names.ADDRESS, "receiving.open_landing"),
        "length": judged(Names.LENGTH, "receiving.open_landing"),
        "number": judged(Names.INDEX, "receiving.open_landing", times="once"),
    },
    Long: {
        "pages": judged(Names.ADDRESS, "sending.fetch_run"),
        "node": judged(Names.PEER, "sending.begin_long"),
        "first": judged(Names.ADDRESS, "sending.begin_long"),
        "length": judged(Names.LENGTH, "sending.begin_long"),
        "packet": judged(Names.LENGTH, "sending.begin_long"),
        "number": NOTHING,
    },
    Border: {
        "requests": NOTHING,
        "landings": NOTHING,
        "long": NOTHING,
        "base": judged(Names.ADDRESS, "reporting.begin", times="once"),
        "released": NOTHING,
    },
    "a packet's mark": {
        "node": judged(Names.PEER, "receiving.take"),
        "number": judged(Names.INDEX, "receiving.take", times="once"),
        "length": judged(Names.LENGTH, "receiving.take", "receiving.store_part"),
    },
    Header: "the library, for the library",
    Config: "the driver",
}

FIRMWARE = Firmware(
    name="bip",
    module=f"{__package__}.main",
    memory=state.__name__,
    ready=READY,
    effort=lambda options: int(options.optimize),
    judges=JUDGES,
    vocabulary=VOCABULARY,
)
