"""The vocabulary by which traces read MPI-NP: which packets carry envelopes, and what in SRAM belongs to a message."""

from collections.abc import Mapping
from typing import Any

from lanai_firmware.lang import offset_of, sizeof

from ...vocabulary import MESSAGE_SLOTS, Channels, Credit, CutThrough, Numbering, Role, Table, Touch
from . import rows, state
from .layout import CUT_THROUGH as CUT_THROUGH_WAY
from .layout import FOLLOW_FROM, PACKET_BODY, SLOTS, Header, Op, Region, Request, Type

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
    """Return where the tables lie. Of a receive only the part behind its envelope counts: searches for
    another receive read the envelope too.
    """
    buffer = int(PACKET_BODY) + int(sizeof(Header))
    receive, stage, channel = int(sizeof(rows.Receive)), int(sizeof(state.Stage)), int(sizeof(rows.Channel))
    message = int(sizeof(rows.Message))
    receives = plan["endpoints"] * plan["receives_per_endpoint"]
    messages = plan["channels"] * plan["messages_per_channel"]
    envelope, length = int(sizeof(rows.Posted)), int(offset_of(rows.Message, "length"))
    jobs, after = int(offset_of(rows.Channel, "jobs")), int(offset_of(rows.Channel, "reliability"))
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


def bodies(plan: Mapping[str, Any]) -> range:
    """Buffers, stages and heap lie behind all tables."""
    return range(plan.get("buffer_space", 1 << 32), 1 << 32)


def spilled(plan: Mapping[str, Any]) -> range:
    """Return the host memory in which channels that share memory leave their messages."""
    first = plan.get("spill_memory", 0)
    return range(first, first + (plan.get("spill_bytes", 0) * plan.get("channels", 0) if first else 0))


CUT_THROUGH = CutThrough(
    types=frozenset({int(Type.EAGER), int(Type.ANSWER)}),
    first_look=int(sizeof(Header)) + int(FOLLOW_FROM),
    enabled=lambda plan: plan.get("ways", 0) & int(CUT_THROUGH_WAY) != 0,
)
CREDIT = Credit(
    member="credit",
    pays=frozenset({int(Type.EAGER), int(Type.EAGER_UNPAID), int(Type.RECV_REQ)}),
    returns=frozenset({int(Type.DROPPED)}),
    running=True,
    silent=frozenset({int(Type.SEEN)}),
)
NUMBERING = Numbering(
    member="number", enabled=lambda plan: plan.get("window", 0) != 0, without=frozenset({int(Type.SEEN)})
)
VOCABULARY = Channels(
    header=Header,
    types=Type,
    roles=ROLES,
    tables=tables,
    bodies=bodies,
    spilled=spilled,
    cut_through=CUT_THROUGH,
    scheduler=f"{__package__}.scheduler",
    slots=int(SLOTS),
    sends=(int(Op.SEND_INLINE), int(Op.SEND), int(Op.SEND_SYNC)),
    receives=(int(Op.RECEIVE), int(Op.RECEIVE_ASK)),
    credit=CREDIT,
    numbering=NUMBERING,
    rooms=(MESSAGE_SLOTS,),
)
