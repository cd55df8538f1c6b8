"""Attributes of communicators, datatypes and windows, and those of MPI_COMM_WORLD that tell of the
environment."""

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from ...mpi.attributes import CopyFunction, DeleteFunction, Keyval
from ...mpi.constants import ANY_SOURCE, PROC_NULL
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.windows import Window
from ..binding import bind
from ..callbacks import check, handle_type, of_program
from ..context import abi

_ENVIRONMENT: dict[str, Callable[[], int]] = {
    "MPI_TAG_UB": lambda: int(abi.world.process.tag_ub),
    "MPI_HOST": lambda: _rank(PROC_NULL),
    "MPI_IO": lambda: _rank(ANY_SOURCE),
    "MPI_WTIME_IS_GLOBAL": lambda: 1,  # simulated time is the same everywhere
    "MPI_UNIVERSE_SIZE": lambda: int(abi.world.process.size),
    "MPI_LASTUSEDCODE": lambda: int(abi.world.errors.last_used_code),
    "MPI_APPNUM": lambda: int(abi.world.start.number),
}
_environment: dict[int, Any] = {}  # the ints that the program gets pointers to


# Those of every window; the program gets pointers to all but the first, of these C types.
_OF_WINDOWS: dict[str, tuple[str, Callable[[Window], int]]] = {
    "MPI_WIN_BASE": ("", lambda window: window.memory.base),
    "MPI_WIN_SIZE": ("intptr_t *", lambda window: window.memory.size),
    "MPI_WIN_DISP_UNIT": ("int *", lambda window: window.unit),
    "MPI_WIN_CREATE_FLAVOR": ("int *", lambda window: abi.constants[f"MPI_WIN_FLAVOR_{window.flavor.name}"]),
    "MPI_WIN_MODEL": ("int *", lambda window: abi.constants[f"MPI_WIN_{window.model.name}"]),
}
_cells: WeakKeyDictionary[Window, dict[str, Any]] = WeakKeyDictionary()  # what those pointers lead to


def _rank(special: int) -> int:
    return abi.numbers.ranks.outward(special) if abi.numbers else special


def predefined(keyval: int, kind: str = "comm") -> str | None:
    """The name of a predefined attribute of communicators or windows."""
    names = {"comm": list(_ENVIRONMENT), "win": list(_OF_WINDOWS)}.get(kind, [])
    return next((name for name in names if abi.constants[name] == keyval), None)


class Integer(int):
    """The value of an attribute that Fortran set. C gets a pointer to it."""

    def address(self) -> int:
        if not hasattr(self, "_room"):
            self._room = abi.ffi.new("intptr_t *", self)
        return abi.address(self._room)


class _Key(Keyval):
    """A key of the program: callbacks in C, called with the number under which the program knows
    it.

    Fortran's callbacks are reached through functions of the Fortran bindings, `proxy` tells which.
    """

    def __init__(self, kind: str, copy: int, delete: int, extra: int) -> None:
        self.number = 0
        self._addresses, self._extra = (copy, delete), extra
        super().__init__(kind, self._copying(copy), self._deleting(delete))

    def _copying(self, address: int) -> CopyFunction | None:
        if not address:
            return None
        if address == abi.constants.get("MPI_COMM_DUP_FN"):  # a number in the standard ABI, a function in MPICH's
            return lambda owner, key, value: (True, value)
        function = of_program(f"int (*)({handle_type()}, int, intptr_t, intptr_t, intptr_t *, int *)", address)

        def copy(owner: Any, key: Keyval, value: int) -> tuple[bool, int]:
            copied, flag = abi.ffi.new("intptr_t *"), abi.ffi.new("int *")
            code = function(_handle(self.kind, owner), self.number, self._extra, value, copied, flag)
            check(code, "the copy function of the attribute")
            return bool(flag[0]), copied[0]

        return copy

    def _deleting(self, address: int) -> DeleteFunction | None:
        if not address:
            return None
        function = of_program(f"int (*)({handle_type()}, int, intptr_t, intptr_t)", address)

        def delete(owner: Any, key: Keyval, value: int) -> None:
            code = function(_handle(self.kind, owner), self.number, value, self._extra)
            check(code, "the delete function of the attribute")

        return delete

    def proxy(self, copy_proxy: int, delete_proxy: int) -> None:
        """From now on callbacks go through these functions, which get the callback as their first
        argument."""
        handle, (to_copy, to_delete) = handle_type(), self._addresses
        copier = of_program(f"int (*)(intptr_t, {handle}, int, intptr_t, int, intptr_t, intptr_t *, int *)", copy_proxy)
        deleter = of_program(f"int (*)(intptr_t, {handle}, int, int, intptr_t, intptr_t)", delete_proxy)

        def copy(owner: Any, key: Keyval, value: int) -> tuple[bool, int]:
            copied, flag = abi.ffi.new("intptr_t *"), abi.ffi.new("int *")
            number = _handle(self.kind, owner)
            code = copier(to_copy, number, self.number, self._extra, _kind(value), value, copied, flag)
            check(code, "the copy function of the attribute")
            return bool(flag[0]), type(value)(copied[0])

        def delete(owner: Any, key: Keyval, value: int) -> None:
            number = _handle(self.kind, owner)
            code = deleter(to_delete, number, self.number, _kind(value), value, self._extra)
            check(code, "the delete function of the attribute")

        self.copy, self.delete = copy if to_copy else None, delete if to_delete else None


def _kind(value: int) -> int:
    """Return the Fortran bindings' number for the kind of a value: 1 for an address-sized integer, 0 for a pointer."""
    return 1 if isinstance(value, Integer) else 0


def _handle(kind: str, owner: Any) -> int:
    return {"comm": abi.comms, "type": abi.types, "win": abi.wins}[kind].handle_of(owner)


def _create(kind: str, copy: int, delete: int, extra: int) -> int:
    key = _Key(kind, copy, delete, extra)
    key.number = abi.keyvals.new(key)
    key.gone = partial(abi.keyvals.remove, key.number)
    return key.number


def _find(call: str, kind: str, keyval: int) -> Keyval:
    if predefined(keyval, kind):
        raise MpiError(ErrorClass.KEYVAL, f"{call}: {predefined(keyval, kind)} is predefined and cannot be changed")
    key: Keyval = abi.keyvals[keyval]
    if key.kind != kind:
        raise MpiError(ErrorClass.KEYVAL, f"{call}: the keyval belongs to another kind of object")
    return key


def _free(call: str, kind: str, pointer: Any) -> None:
    key = _find(call, kind, pointer[0])
    key.free()  # once more if it was freed before and attributes still use it
    pointer[0] = abi.keyvals.null


def set_value(call: str, kind: str, owner: Any, keyval: int, value: int) -> None:
    owner.attributes.set(owner, _find(call, kind, keyval), value)


def get_value(call: str, kind: str, owner: Any, keyval: int) -> tuple[bool, int]:
    """(found, value); of the environment's attributes the number itself."""
    name = predefined(keyval, kind)
    if name is not None:
        return True, _OF_WINDOWS[name][1](owner) if kind == "win" else _ENVIRONMENT[name]()
    found, value = owner.attributes.get(_find(call, kind, keyval))
    return bool(found), value


def get_pointer(call: str, kind: str, owner: Any, keyval: int, result: int) -> bool:
    """Write an attribute as C gets it, and return whether it is set. Integers, which are the environment's attributes
    and Fortran's, become pointers to them.
    """
    found, value = get_value(call, kind, owner, keyval)
    if found:
        if kind == "comm" and predefined(keyval):
            held = _environment.setdefault(keyval, abi.ffi.new("int *"))
            held[0] = value
            value = abi.address(held)
        elif kind == "win" and predefined(keyval, kind):
            value = _pointer(owner, predefined(keyval, kind) or "", value)
        elif isinstance(value, Integer):
            value = value.address()
        abi.ffi.cast("intptr_t *", result)[0] = value
    return found


def _pointer(window: Window, name: str, value: int) -> int:
    """Return a window's own attribute as C gets it: the base itself, or a pointer to any other."""
    form = _OF_WINDOWS[name][0]
    if not form:
        return value
    cell = _cells.setdefault(window, {})
    if name not in cell:
        cell[name] = abi.ffi.new(form, value)
    return abi.address(cell[name])


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
bind("MPI_Comm_free_keyval", lambda comm_keyval: _free("MPI_Comm_free_keyval", "comm", comm_keyval))
bind("MPI_Keyval_free", lambda keyval: _free("MPI_Keyval_free", "comm", keyval))
bind("MPI_Type_free_keyval", lambda type_keyval: _free("MPI_Type_free_keyval", "type", type_keyval))
bind(
    "MPI_Comm_set_attr",
    lambda comm, comm_keyval, attribute_val: set_value("MPI_Comm_set_attr", "comm", comm, comm_keyval, attribute_val),
)
bind("MPI_Attr_put", lambda comm, keyval, attribute_val: set_value("MPI_Attr_put", "comm", comm, keyval, attribute_val))
bind(
    "MPI_Type_set_attr",
    lambda datatype, type_keyval, attribute_val: set_value(
        "MPI_Type_set_attr", "type", datatype, type_keyval, attribute_val
    ),
)
bind(
    "MPI_Comm_get_attr",
    lambda comm, comm_keyval, attribute_val: get_pointer("MPI_Comm_get_attr", "comm", comm, comm_keyval, attribute_val),
)
bind(
    "MPI_Attr_get", lambda comm, keyval, attribute_val: get_pointer("MPI_Attr_get", "comm", comm, keyval, attribute_val)
)
bind(
    "MPI_Type_get_attr",
    lambda datatype, type_keyval, attribute_val: get_pointer(
        "MPI_Type_get_attr", "type", datatype, type_keyval, attribute_val
    ),
)
bind("MPI_Comm_delete_attr", lambda comm, comm_keyval: _delete("MPI_Comm_delete_attr", "comm", comm, comm_keyval))
bind("MPI_Attr_delete", lambda comm, keyval: _delete("MPI_Attr_delete", "comm", comm, keyval))
bind(
    "MPI_Type_delete_attr",
    lambda datatype, type_keyval: _delete("MPI_Type_delete_attr", "type", datatype, type_keyval),
)
bind(
    "MPI_Win_create_keyval",
    lambda win_copy_attr_fn, win_delete_attr_fn, extra_state: _create(
        "win", win_copy_attr_fn, win_delete_attr_fn, extra_state
    ),
)
bind("MPI_Win_free_keyval", lambda win_keyval: _free("MPI_Win_free_keyval", "win", win_keyval))
bind(
    "MPI_Win_set_attr",
    lambda win, win_keyval, attribute_val: set_value("MPI_Win_set_attr", "win", win, win_keyval, attribute_val),
)
bind(
    "MPI_Win_get_attr",
    lambda win, win_keyval, attribute_val: get_pointer("MPI_Win_get_attr", "win", win, win_keyval, attribute_val),
)
bind("MPI_Win_delete_attr", lambda win, win_keyval: _delete("MPI_Win_delete_attr", "win", win, win_keyval))
