"""Attributes of communicators and datatypes, and those of MPI_COMM_WORLD that tell of the environment."""

from collections.abc import Callable
from typing import Any

from ...mpi.attributes import CopyFunction, DeleteFunction, Keyval
from ...mpi.constants import ANY_SOURCE, PROC_NULL
from ...mpi.errors import ErrorClass, MpiError
from ..binding import bind
from ..callbacks import check, handle_type
from ..context import abi

_ENVIRONMENT: dict[str, Callable[[], int]] = {
    "MPI_TAG_UB": lambda: int(abi.world.tag_ub),
    "MPI_HOST": lambda: _rank(PROC_NULL),
    "MPI_IO": lambda: _rank(ANY_SOURCE),
    "MPI_WTIME_IS_GLOBAL": lambda: 1,  # simulated time is the same everywhere
    "MPI_UNIVERSE_SIZE": lambda: int(abi.world.size),
    "MPI_LASTUSEDCODE": lambda: int(abi.world.errors.last_used_code),
    "MPI_APPNUM": lambda: 0,
}
_DUPLICATE = abi.constants.get("MPI_COMM_DUP_FN")  # a number in the standard ABI, a function in MPICH's
_environment: dict[int, Any] = {}  # the ints that the program gets pointers to


def _rank(special: int) -> int:
    return abi.numbers.ranks.outward(special) if abi.numbers else special


def _predefined(keyval: int) -> str | None:
    for name in _ENVIRONMENT:
        if abi.constants[name] == keyval:
            return name
    return None


class _Key(Keyval):
    """A key of the program: callbacks in C, called with the number under which the program knows it."""

    def __init__(self, kind: str, copy: int, delete: int, extra: int) -> None:
        self.number = 0
        super().__init__(kind, self._copying(kind, copy, extra), self._deleting(kind, delete, extra))

    def _copying(self, kind: str, address: int, extra: int) -> CopyFunction | None:
        if not address:
            return None
        if address == _DUPLICATE:
            return lambda owner, key, value: (True, value)
        ffi = abi.ffi
        function = ffi.cast(f"int (*)({handle_type()}, int, intptr_t, intptr_t, intptr_t *, int *)", address)

        def copy(owner: Any, key: Keyval, value: int) -> tuple[bool, int]:
            copied, flag = ffi.new("intptr_t *"), ffi.new("int *")
            check(
                function(_handle(kind, owner), self.number, extra, value, copied, flag),
                "the copy function of the attribute",
            )
            return bool(flag[0]), copied[0]

        return copy

    def _deleting(self, kind: str, address: int, extra: int) -> DeleteFunction | None:
        if not address:
            return None
        function = abi.ffi.cast(f"int (*)({handle_type()}, int, intptr_t, intptr_t)", address)

        def delete(owner: Any, key: Keyval, value: int) -> None:
            check(function(_handle(kind, owner), self.number, value, extra), "the delete function of the attribute")

        return delete


def _handle(kind: str, owner: Any) -> int:
    return (abi.comms if kind == "comm" else abi.types).handle_of(owner)


def _create(kind: str, copy: int, delete: int, extra: int) -> int:
    key = _Key(kind, copy, delete, extra)
    key.number = abi.keyvals.new(key)
    return key.number


def _find(call: str, kind: str, keyval: int) -> Keyval:
    if _predefined(keyval):
        raise MpiError(ErrorClass.KEYVAL, f"{call}: {_predefined(keyval)} is predefined and cannot be changed")
    key: Keyval = abi.keyvals[keyval]
    if key.kind != kind:
        raise MpiError(ErrorClass.KEYVAL, f"{call}: the keyval belongs to another kind of object")
    return key


def _free(pointer: Any) -> None:
    abi.keyvals[pointer[0]].freed = True
    abi.keyvals.remove(pointer[0])
    pointer[0] = abi.keyvals.null


def _set(call: str, kind: str, owner: Any, keyval: int, value: int) -> None:
    owner.attributes.set(owner, _find(call, kind, keyval), value)


def _get(call: str, kind: str, owner: Any, keyval: int, result: int) -> bool:
    name = _predefined(keyval) if kind == "comm" else None
    if name is not None:
        held = _environment.setdefault(keyval, abi.ffi.new("int *"))
        held[0] = _ENVIRONMENT[name]()
        found, value = True, abi.address(held)
    else:
        found, value = owner.attributes.get(_find(call, kind, keyval))
    if found:
        abi.ffi.cast("intptr_t *", result)[0] = value
    return bool(found)


def _delete(call: str, kind: str, owner: Any, keyval: int) -> None:
    owner.attributes.delete(owner, _find(call, kind, keyval), call)


# The calls of communicators exist under two names, with the parameters named differently.

bind(
    "MPI_Comm_create_keyval",
    lambda comm_copy_attr_fn, comm_delete_attr_fn, extra_state: _create(
        "comm", comm_copy_attr_fn, comm_delete_attr_fn, extra_state
    ),
)
bind("MPI_Keyval_create", lambda copy_fn, delete_fn, extra_state: _create("comm", copy_fn, delete_fn, extra_state))
bind(
    "MPI_Type_create_keyval",
    lambda type_copy_attr_fn, type_delete_attr_fn, extra_state: _create(
        "type", type_copy_attr_fn, type_delete_attr_fn, extra_state
    ),
)
bind("MPI_Comm_free_keyval", lambda comm_keyval: _free(comm_keyval))
bind("MPI_Keyval_free", lambda keyval: _free(keyval))
bind("MPI_Type_free_keyval", lambda type_keyval: _free(type_keyval))
bind(
    "MPI_Comm_set_attr",
    lambda comm, comm_keyval, attribute_val: _set("MPI_Comm_set_attr", "comm", comm, comm_keyval, attribute_val),
)
bind("MPI_Attr_put", lambda comm, keyval, attribute_val: _set("MPI_Attr_put", "comm", comm, keyval, attribute_val))
bind(
    "MPI_Type_set_attr",
    lambda datatype, type_keyval, attribute_val: _set(
        "MPI_Type_set_attr", "type", datatype, type_keyval, attribute_val
    ),
)
bind(
    "MPI_Comm_get_attr",
    lambda comm, comm_keyval, attribute_val: _get("MPI_Comm_get_attr", "comm", comm, comm_keyval, attribute_val),
)
bind("MPI_Attr_get", lambda comm, keyval, attribute_val: _get("MPI_Attr_get", "comm", comm, keyval, attribute_val))
bind(
    "MPI_Type_get_attr",
    lambda datatype, type_keyval, attribute_val: _get(
        "MPI_Type_get_attr", "type", datatype, type_keyval, attribute_val
    ),
)
bind("MPI_Comm_delete_attr", lambda comm, comm_keyval: _delete("MPI_Comm_delete_attr", "comm", comm, comm_keyval))
bind("MPI_Attr_delete", lambda comm, keyval: _delete("MPI_Attr_delete", "comm", comm, keyval))
bind(
    "MPI_Type_delete_attr",
    lambda datatype, type_keyval: _delete("MPI_Type_delete_attr", "type", datatype, type_keyval),
)
