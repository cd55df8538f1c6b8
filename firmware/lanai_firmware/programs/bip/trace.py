"""The vocabulary by which traces read BIP's packets: the library's header says what each is."""

from collections.abc import Mapping
from typing import Any

from lanai_firmware.lang import constants_set, offset_of, sizeof

from ...vocabulary import Channels, Credit, Role, Room, Table, Touch
from .layout import HEAD, RING, SHORT, Border, Header, Request, Type, sizes
from .state import IN, OUT, Incoming, Nic, Outgoing

ROLES = {
    int(Type.EAGER): Role.EAGER,
    int(Type.SYNC): Role.EAGER,
    int(Type.ASK): Role.PROMISE,
    int(Type.GRANT): Role.ASK,
    int(Type.PART): Role.BODY,
}


def _place(plan: Mapping[str, Any], member: str) -> int:
    """Return where a member of the firmware's memory is; older traces do not tell of how many nodes it is."""
    with constants_set(sizes(plan.get("nodes", 1))):
        return int(plan["nic"]) + int(offset_of(Nic, member))


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Return where requests and buffers lie."""
    incoming, outgoing, request = int(sizeof(Incoming)), int(sizeof(Outgoing)), int(sizeof(Request))
    requests = _place(plan, "border") + int(offset_of(Border, "requests"))
    return [
        Table(Touch.BUFFER, _place(plan, "incoming"), IN, incoming, 4, incoming),
        Table(Touch.STAGE, _place(plan, "outgoing"), OUT, outgoing, 0, outgoing),
        Table(Touch.SLOT, requests, int(RING), request, int(SHORT), request),
    ]


def bodies(plan: Mapping[str, Any]) -> range:
    """Requests and buffers."""
    with constants_set(sizes(plan.get("nodes", 1))):
        return range(_place(plan, "border"), int(plan["nic"]) + int(sizeof(Nic)))


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
