"""How traces read MPI-NP: which packets carry envelopes, and what in SRAM belongs to a message."""

from collections.abc import Mapping
from typing import Any

from lanai_firmware.lang import offset_of, sizeof

from ..vocabulary import Role, Table, Touch, Vocabulary
from . import state
from .layout import PACKET_BODY, SLOTS, Header, Op, Region, Request, Type

ROLES = {
    int(Type.EAGER): Role.EAGER,
    int(Type.EAGER_UNPAID): Role.UNPAID,
    int(Type.RECV_REQ): Role.PROMISE,
    int(Type.ACCEPT): Role.ACCEPT,
    int(Type.SEND_REQ): Role.ASK,
    int(Type.ANSWER): Role.BODY,
    int(Type.TAKEN): Role.TAKEN,
    int(Type.DROPPED): Role.DROPPED,
}


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Of a receive only what lies behind its envelope counts: the envelope is also read by searches for another."""
    buffer = int(PACKET_BODY) + int(sizeof(Header))
    receive, stage, channel = int(sizeof(state.Receive)), int(sizeof(state.Stage)), int(sizeof(state.Channel))
    message = int(sizeof(state.Message))
    receives = plan["endpoints"] * plan["receives_per_endpoint"]
    messages = plan["channels"] * plan["messages_per_channel"]
    envelope, length = int(sizeof(state.Posted)), int(offset_of(state.Message, "length"))
    jobs, after = int(offset_of(state.Channel, "jobs")), int(offset_of(state.Channel, "line"))
    slot = plan["slot_bytes"]
    request = slot - int(sizeof(Request))
    return [
        Table(Touch.BUFFER, plan["buffer_space"], plan["buffers"], buffer, 0, buffer),
        Table(Touch.RECEIVE, plan["receive_table"], receives, receive, envelope, receive),
        Table(Touch.STAGE, plan["stage_table"], plan["stages"], stage, 0, stage),
        Table(Touch.JOB, plan["channel_table"], plan["channels"], channel, jobs, after),
        Table(Touch.MESSAGE, plan["message_table"], messages, message, length, message),
        *(
            Table(Touch.SLOT, region + int(sizeof(Region)), int(SLOTS), slot, request, slot)
            for region in plan["regions"]
        ),
    ]


VOCABULARY = Vocabulary(
    header=Header,
    types=Type,
    roles=ROLES,
    tables=tables,
    scheduler=f"{__package__}.scheduler",
    slots=int(SLOTS),
    sends=(int(Op.SEND_INLINE), int(Op.SEND), int(Op.SEND_SYNC)),
    receives=(int(Op.RECEIVE), int(Op.RECEIVE_ASK)),
)
