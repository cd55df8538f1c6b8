"""Records of windows, of operations on them and of their synchronization."""

from collections.abc import Callable, Hashable
from typing import Any

from ...mpi.constants import PROC_NULL, WindowFlavor
from ...mpi.group import Group
from ...mpi.windows import Window
from ..context import abi
from .call import Buffer, Call, Regions, basic_of, regions_of
from .collectives import note
from .recorder import After, Handler, Recorder

HANDLERS: dict[str, Handler] = {}
_ORIGIN = ("origin_addr", "origin_count", "origin_datatype")
_RESULT = ("result_addr", "result_count", "result_datatype")


def made(rec: Recorder, call: Call, window: Window) -> None:
    """A window begins."""
    name = rec.names.of(window.communicator)
    base, size = window.memory.base, 0 if window.flavor is WindowFlavor.DYNAMIC else window.memory.size
    shared = window.flavor is WindowFlavor.SHARED
    rec.note("win", call, win=name, base=base, size=size, label=window.label, shared=shared or None)
    if size and not shared:
        rec.windows[name] = (base, base + size)
        rec.windows_made[name] = (call.name, call.place)


def _target(call: Call, window: Window, rank: int, count: str, datatype: str) -> Regions:
    """Return the bytes at the target, counted from the window's base."""
    unit = 1 if window.flavor is WindowFlavor.DYNAMIC else window.units[rank]
    kind = call.datatype(datatype)
    return regions_of(kind, unit * call.raw("target_disp"), call.raw(count) if count else 1)


def _moves(kind: str, target: tuple[str, str], origin: Callable[[Call], list[Buffer]]) -> Handler:
    """`target`: the arguments with its count and datatype; `origin` gives the buffers of the origin."""

    def handle(rec: Recorder, call: Call) -> After | None:
        window, rank = call.window(), call.raw("target_rank")
        if call.number_of("target_rank") == PROC_NULL:
            return None
        name = rec.names.of(window.communicator)
        buffers = origin(call)
        keys: list[Hashable] = [(name, rank)]
        rec.use(call, buffers, pending=True, keys=keys, watch=not rec.in_window(buffers))
        op = abi.ops.get(call.raw("op")) if call.has("op") else None
        rec.note(
            "rma", call, c=call.name, win=name, does=kind, target=window.communicator.route[rank], rank=rank,
            at=_target(call, window, rank, *target), op=getattr(op, "name", None) or None,
            basic=basic_of(call.datatype(target[1])) if kind not in ("put", "get") else None,
        )  # fmt: skip
        if not call.has("request"):
            return None
        return rec.made(call, [], [], extra=keys[0])

    return handle


def _origin(call: Call) -> list[Buffer]:
    return [Buffer(call.regions(*_ORIGIN), False, "origin_addr")]


def _result(call: Call) -> list[Buffer]:
    return [Buffer(call.regions(*_ORIGIN), True, "origin_addr")]


def _origin_and_result(call: Call) -> list[Buffer]:
    result = Buffer(call.regions(*_RESULT), True, "result_addr")
    op = abi.ops.get(call.raw("op"))
    return [result] if getattr(op, "name", "") == "MPI_NO_OP" else [result, *_origin(call)]


def _one(call: Call, name: str, writes: bool) -> Buffer:
    return Buffer(regions_of(call.datatype("datatype"), call.raw(name), 1), writes, name)


def _fetch(call: Call) -> list[Buffer]:
    result = _one(call, "result_addr", True)
    op = abi.ops.get(call.raw("op"))
    return [result] if getattr(op, "name", "") == "MPI_NO_OP" else [result, _one(call, "origin_addr", False)]


def _swap(call: Call) -> list[Buffer]:
    return [
        _one(call, "result_addr", True), _one(call, "origin_addr", False), _one(call, "compare_addr", False),
    ]  # fmt: skip


_MANY, _SINGLE = ("target_count", "target_datatype"), ("", "datatype")
for _name, _kind, _buffers in (
    ("put", "put", _origin), ("get", "get", _result), ("accumulate", "acc", _origin),
    ("get_accumulate", "gacc", _origin_and_result),
):  # fmt: skip
    HANDLERS[f"MPI_{_name.capitalize()}"] = HANDLERS[f"MPI_R{_name}"] = _moves(_kind, _MANY, _buffers)
HANDLERS["MPI_Fetch_and_op"] = _moves("gacc", _SINGLE, _fetch)
HANDLERS["MPI_Compare_and_swap"] = _moves("cas", _SINGLE, _swap)


def _synchronizes(what: str, ends: str = "") -> Handler:
    """`ends`: which operations of this origin it completes: "all", "rank" or none."""

    def handle(rec: Recorder, call: Call) -> After | None:
        window = call.window()
        name = rec.names.of(window.communicator)
        rank = call.number_of("rank") if call.has("rank") else None
        fields: dict[str, Any] = {"win": name, "what": what, "rank": rank}
        if call.has("group"):
            group: Group = abi.groups[call.raw("group")]
            fields["of"] = list(group.members)
        elif what in ("fence", "lock", "unlock", "flush"):
            fields["of"] = list(window.group.members)
        if call.has("lock_type"):
            fields["exclusive"] = call.raw("lock_type") == abi.constants["MPI_LOCK_EXCLUSIVE"]
        if what == "fence":
            note(rec, call, window.communicator, {})
        rec.note("sync", call, **fields)
        flag = call.raw("flag") if call.has("flag") else None

        def after(code: int) -> None:
            if not code and (flag is None or flag[0]):
                rec.note("synced", call)
                if ends:
                    rec.flight.end(lambda keys: any(_ended(key, name, ends, rank) for key in keys))

        return after

    return handle


def _ended(key: Hashable, name: str, ends: str, rank: int | None) -> bool:
    return isinstance(key, tuple) and key[0] == name and (ends == "all" or key[1] == rank)


for _call, _ends in {
    "fence": "all", "start": "", "complete": "all", "post": "", "wait": "", "test": "", "lock": "", "unlock": "rank",
    "lock_all": "", "unlock_all": "all", "flush": "rank", "flush_all": "all", "flush_local": "rank",
    "flush_local_all": "all", "sync": "",
}.items():  # fmt: skip
    HANDLERS[f"MPI_Win_{_call}"] = _synchronizes(_call, _ends)


def _freed(rec: Recorder, call: Call) -> After | None:
    window = abi.wins[call.raw("win")[0]]
    name = rec.names.of(window.communicator)
    note(rec, call, window.communicator, {})
    rec.note("sync", call, win=name, what="free", of=list(window.group.members))

    def after(code: int) -> None:
        if not code:
            rec.windows.pop(name, None)
            rec.note("synced", call)

    return after


HANDLERS["MPI_Win_free"] = _freed
