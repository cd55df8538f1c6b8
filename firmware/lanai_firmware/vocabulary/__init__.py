"""The vocabulary of a messaging system for traces: how its packets are read, and which message they belong to.

base       what every vocabulary has: header, packet types, tables in SRAM, room at receivers
channels   packets belong to channels and have types
puts       packets put bytes to places in remote memory
fragments  packets hold parts of messages, for one node or several
commands   packets are an adapter's requests and replies
"""

from .base import MESSAGE_SLOTS, CutThrough, Room, Table, Touch, Vocabulary
from .channels import ENVELOPES, Channels, Credit, Numbering, Role
from .commands import (
    Commands,
    ControlPart,
    Controls,
    Places,
    RecordPart,
    Records,
    SeenCommand,
    SeenControl,
    SeenRecord,
    SeenRequest,
    SeenSend,
    Sends,
)
from .fragments import Fragments, SeenFragment
from .puts import Part, Puts, SeenPut

__all__ = [
    "ENVELOPES",
    "MESSAGE_SLOTS",
    "Channels",
    "Commands",
    "ControlPart",
    "Controls",
    "Credit",
    "CutThrough",
    "Fragments",
    "Numbering",
    "Part",
    "Places",
    "Puts",
    "RecordPart",
    "Records",
    "Role",
    "Room",
    "SeenCommand",
    "SeenControl",
    "SeenFragment",
    "SeenPut",
    "SeenRecord",
    "SeenRequest",
    "SeenSend",
    "Sends",
    "Table",
    "Touch",
    "Vocabulary",
]
