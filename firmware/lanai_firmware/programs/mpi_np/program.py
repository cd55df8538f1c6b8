"""MPI-NP's firmware as one object."""

from lanai_hdl.words import NOTHING, Judged, Names, judged

from ..base import Firmware
from . import state
from .layout import (
    LAYOUT_MAGIC,
    LAYOUT_VERSION,
    ChannelPlan,
    EndpointPlan,
    Header,
    PageEntry,
    Piece,
    Plan,
    Record,
    Region,
    Request,
)
from .plan import McpConfig, constants, effort, paper, small, thesis_code
from .sram import lay_out
from .trace import VOCABULARY

OWN = "the driver"
JUDGES: Judged = {
    Request: {
        "pieces": judged(Names.ADDRESS, "pieces.pieces_allowed", of="sends")
        + judged(Names.ADDRESS, "cursor.open_piece", "receives.measure_both", of="receives"),
        "table": judged(Names.INDEX, "pieces.announce", of="sends", times="once for each pull")
        + judged(Names.INDEX, "cursor.fetch", of="receives"),
        "token": judged(Names.INDEX, "requests.free_receive", of="receives", times="again when its receive is done")
        + judged(Names.INDEX, "probing.cancel", of="CANCEL"),
        "spare": judged(Names.INDEX, "probing.receive_taken", of="RECEIVE_TAKEN", times="once")
        + judged(Names.HANDLE, "answering.on_send_req", of="RECEIVE_PULL, at the peer", times="once"),
        "limit": judged(Names.LENGTH, "cursor.open_piece", of="receives"),
        "tag": NOTHING,
        "length": judged(Names.LENGTH, "quick_sends.send_short", "requests.copy_send", of="SEND_INLINE")
        + judged(Names.LENGTH, "pieces.pieces_allowed", "answering.begin", of="SEND, SEND_SYNC")
        + judged(Names.LENGTH, "answering.on_send_req", "answering.begin", of="RECEIVE_PULL, at the peer"),
        "context": NOTHING,
        "peer": judged(Names.PEER, "quick_sends.send_short", "requests.take_request"),
        "command": judged(Names.INDEX, "quick_sends.send_short", "requests.take_request", of="next slot"),
    },
    PageEntry: {
        "pieces": judged(Names.ADDRESS, "cursor.open_piece"),
        "next": judged(Names.INDEX, "cursor.fetch"),
        "total": judged(Names.LENGTH, "answering.begin"),
        "operation": judged(Names.HANDLE, "answering.finish_job", times="once, with its entry"),
        "peer": judged(Names.PEER, "answering.begin"),
        "used": NOTHING,
    },
    Piece: {
        "address": judged(Names.ADDRESS, "cursor.open_piece", "pieces.pieces_allowed"),
        "length": judged(Names.LENGTH, "cursor.open_piece", "pieces.pieces_allowed"),
    },
    Region: {"freed": NOTHING, "alarm": NOTHING, "spare": NOTHING},
    Header: {
        "type": NOTHING,
        "flags": NOTHING,
        "channel": judged(Names.INDEX, "incoming.receive_packet", "incoming.receive_any", "following.follow"),
        "credit": NOTHING,  # room at the sender's own NIC
        "tag": judged(
            Names.INDEX, "quick_receives.receive_part", "pulling.on_answer", "following.answers", of="ANSWER"
        ),
        "length": judged(
            Names.LENGTH,
            "quick_receives.receive_short",
            "quick_receives.receive_split",
            "following.meets",
            "envelopes.on_eager",
            "envelopes.on_eager_unpaid",
            of="EAGER, EAGER_UNPAID",
        )
        + judged(Names.LENGTH, "quick_receives.receive_part", "pulling.on_answer", "following.answers", of="ANSWER")
        + judged(Names.LENGTH, "answering.on_send_req", "answering.begin", of="SEND_REQ, SEARCH_REQ"),
        "context": NOTHING,
        "sequence": judged(Names.PEER, "in_order.accept_next", of="all, with recovery"),
        "handle": judged(Names.HANDLE, "answering.on_send_req", "answering.begin", of="SEND_REQ", times="once")
        + judged(Names.INDEX, "searching.on_accept", of="ACCEPT", times="once"),
        "number": judged(Names.INDEX, "in_order.accept_next", of="all, with recovery", times="once"),
        "seen": judged(Names.INDEX, "recovery.on_seen", of="all, with recovery"),
    },
    Record: "the firmware",
    Plan: OWN,
    EndpointPlan: OWN,
    ChannelPlan: OWN,
}

FIRMWARE = Firmware(
    name="mpi-np",
    module=f"{__package__}.main",
    memory=state.__name__,
    presets={"default": McpConfig, "paper": paper, "thesis-code": thesis_code, "small": small},
    lay_out=lay_out,
    ready=int(LAYOUT_MAGIC) | int(LAYOUT_VERSION),
    refused=int(LAYOUT_MAGIC),
    constants=constants,
    effort=effort,
    judges=JUDGES,
    vocabulary=VOCABULARY,
)
