"""The vocabulary by which traces read BIP's packets: the library's header says what each is."""

from collections.abc import Mapping
from typing import Any

from lanai_firmware.lang import offset_of, sizeof

from ...vocabulary import Channels, Credit, Role, Room, Table, Touch
from .layout import HEAD, RING, SHORT, Border, Header, Request, Type
from .state import IN, OUT, Incoming, Nic, Outgoing

ROLES = {
    int(Type.EAGER): Role.EAGER,
    int(Type.SYNC): Role.EAGER,
    int(Type.ASK): Role.PROMISE,
    int(Type.GRANT): Role.ASK,
    int(Type.PART): Role.BODY,
}


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Return where requests and buffers lie."""
    nic = plan["nic"]
    incoming, outgoing, request = int(sizeof(Incoming)), int(sizeof(Outgoing)), int(sizeof(Request))
    requests = nic + int(offset_of(Nic, "border")) + int(offset_of(Border, "requests"))
    return [
        Table(Touch.BUFFER, nic + int(offset_of(Nic, "incoming")), IN, incoming, 4, incoming),
        Table(Touch.STAGE, nic + int(offset_of(Nic, "outgoing")), OUT, outgoing, 0, outgoing),
        Table(Touch.SLOT, requests, int(RING), request, int(SHORT), request),
    ]


def bodies(plan: Mapping[str, Any]) -> range:
    """Requests and buffers."""
    first = plan["nic"] + int(offset_of(Nic, "border"))
    return range(first, plan["nic"] + int(sizeof(Nic)))


CREDIT = Credit(
    member="credit",
    pays=frozenset({int(Type.EAGER), int(Type.SYNC), int(Type.ASK), int(Type.GRANT), int(Type.TAKEN)}),
    silent=frozenset({int(Type.PART)}),
)
VOCABULARY = Channels(
    header=Header,
    types=Type,
    roles=ROLES,
    tables=tables,
    bodies=bodies,
    spilled=lambda plan: range(0),
    cut_through=None,
    scheduler=f"{__package__}.main",
    slots=int(RING),
    sends=(int(Type.EAGER), int(Type.SYNC), int(Type.ASK)),
    receives=(),
    shortest=int(HEAD) + 4,
    credit=CREDIT,
    rooms=(Room("credit in use", "packets", "short packets to its peers for which it has no credit back"),),
)
