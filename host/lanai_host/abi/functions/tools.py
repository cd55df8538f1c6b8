"""The tools interface (MPI_T): reads variables. They are there between MPI_Init and MPI_Finalize, and none can be set.

Its calls never call error handlers: they return codes of their own. Any output may be a null pointer.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ...mpi import variables
from ...mpi.constants import ThreadLevel
from ...mpi.text import byte_length
from ...mpi.variables import Variable
from ..binding import ToolError, bind
from ..context import Phase, abi

_begun = 0  # calls of MPI_T_init_thread without their MPI_T_finalize
_handles: dict[int, Variable] = {}  # of both kinds; a handle is a number that is never given again
_sessions: set[int] = set()
_numbers = iter(range(1, 1 << 62))
_ALL_HANDLES = 0  # MPI_T_PVAR_ALL_HANDLES
CONTROL, PERFORMANCE = 0, 1  # the categories, in this order
_CATEGORIES = (
    ("control", "what the host's own work costs in simulated time"),
    ("performance", "simulated time, and what the NIC counts"),
)


def tool(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: bind MPI_T_`name`, which may be called between MPI_T_init_thread and MPI_T_finalize."""

    def decorate(function: Callable[..., None]) -> Callable[..., Any]:
        arguments = function.__code__.co_varnames[: function.__code__.co_argcount]

        def call(*values: Any) -> None:
            if not _begun:
                raise ToolError("NOT_INITIALIZED")
            function(*values)

        bind(f"MPI_T_{name}", call, " ".join(arguments), always=True)
        return function

    return decorate


def _put(pointer: Any, value: int) -> None:
    if pointer:
        pointer[0] = value


def _put_address(address: int, value: int) -> None:
    """Write a handle, whose C type is a pointer."""
    if address:
        ctypes.c_size_t.from_address(address).value = value


def _put_text(pointer: Any, length: Any, text: str) -> None:
    """As MPI_T does it: `length` is the room, and becomes what the whole needs; without room it only does that."""
    room = length[0] if length else 0
    if pointer and room > 0:
        abi.put_text(pointer, text, room)
    _put(length, byte_length(text) + 1)


def _control() -> list[Variable]:
    return variables.control(abi.world) if abi.phase is Phase.RUNNING else []


def _performance() -> list[Variable]:
    return variables.performance(abi.world) if abi.phase is Phase.RUNNING else []


def _at(found: Sequence[Any], index: int) -> Any:
    if not 0 <= index < len(found):
        raise ToolError("INVALID_INDEX")
    return found[index]


def _index(found: list[Variable], name: str) -> int:
    for index, variable in enumerate(found):
        if variable.name == name:
            return index
    raise ToolError("INVALID_NAME")


def _handle(address: int) -> Variable:
    if address not in _handles:
        raise ToolError("INVALID_HANDLE")
    return _handles[address]


def _new_handle(variable: Variable, handle: int, count: Any) -> None:
    number = next(_numbers)
    _handles[number] = variable
    _put_address(handle, number)
    _put(count, 1)


def _free(handle: int) -> None:
    held = ctypes.c_size_t.from_address(handle)
    _handle(held.value)
    del _handles[held.value]
    held.value = 0


def _read(variable: Variable, buffer: int) -> None:
    ctypes.c_uint64.from_address(buffer).value = variable.read()


def _type() -> int:
    handle: int = abi.constants["MPI_UINT64_T"]
    return handle


def _constant(name: str) -> int:
    value: int = abi.constants[f"MPI_T_{name}"]
    return value


# Begin and end


def _init(required: int) -> ThreadLevel:
    global _begun
    _begun += 1
    return ThreadLevel.MULTIPLE


def _finalize() -> None:
    global _begun
    if not _begun:
        raise ToolError("NOT_INITIALIZED")
    _begun -= 1


bind("MPI_T_init_thread", _init, always=True)
bind("MPI_T_finalize", _finalize, always=True)

# Control variables


@tool("cvar_get_num")
def _cvar_get_num(num_cvar: Any) -> None:
    _put(num_cvar, len(_control()))


@tool("cvar_get_info")
def _cvar_get_info(
    cvar_index: int,
    name: Any,
    name_len: Any,
    verbosity: Any,
    datatype: Any,
    enumtype: int,
    desc: Any,
    desc_len: Any,
    bind: Any,
    scope: Any,
) -> None:
    variable = _at(_control(), cvar_index)
    _describe(variable, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind)
    _put(scope, _constant("SCOPE_CONSTANT"))


def _describe(
    variable: Variable,
    name: Any,
    name_len: Any,
    verbosity: Any,
    datatype: Any,
    enumtype: int,
    desc: Any,
    desc_len: Any,
    bind: Any,
) -> None:
    """What variables of both kinds have in common."""
    _put_text(name, name_len, variable.name)
    _put_text(desc, desc_len, variable.text)
    _put(verbosity, _constant("VERBOSITY_USER_BASIC"))
    _put(datatype, _type())
    _put_address(enumtype, 0)
    _put(bind, _constant("BIND_NO_OBJECT"))


@tool("cvar_get_index")
def _cvar_get_index(name: str, cvar_index: Any) -> None:
    _put(cvar_index, _index(_control(), name))


@tool("cvar_handle_alloc")
def _cvar_handle_alloc(cvar_index: int, obj_handle: int, handle: int, count: Any) -> None:
    _new_handle(_at(_control(), cvar_index), handle, count)


@tool("cvar_handle_free")
def _cvar_handle_free(handle: int) -> None:
    _free(handle)


@tool("cvar_read")
def _cvar_read(handle: int, buf: int) -> None:
    _read(_handle(handle), buf)


@tool("cvar_write")
def _cvar_write(handle: int, buf: int) -> None:
    _handle(handle)
    raise ToolError("CVAR_SET_NEVER")


# Performance variables


@tool("pvar_get_num")
def _pvar_get_num(num_pvar: Any) -> None:
    _put(num_pvar, len(_performance()))


@tool("pvar_get_info")
def _pvar_get_info(
    pvar_index: int,
    name: Any,
    name_len: Any,
    verbosity: Any,
    var_class: Any,
    datatype: Any,
    enumtype: int,
    desc: Any,
    desc_len: Any,
    bind: Any,
    readonly: Any,
    continuous: Any,
    atomic: Any,
) -> None:
    variable = _at(_performance(), pvar_index)
    _describe(variable, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind)
    _put(var_class, _class(variable))
    for flag, value in ((readonly, 1), (continuous, 1), (atomic, 0)):
        _put(flag, value)


def _class(variable: Variable) -> int:
    return _constant(f"PVAR_CLASS_{variable.kind.value}")


@tool("pvar_get_index")
def _pvar_get_index(name: str, var_class: int, pvar_index: Any) -> None:
    found = _performance()
    index = _index(found, name)
    if _class(found[index]) != var_class:
        raise ToolError("INVALID_NAME")
    _put(pvar_index, index)


@tool("pvar_session_create")
def _pvar_session_create(session: int) -> None:
    number = next(_numbers)
    _sessions.add(number)
    _put_address(session, number)


def _session(number: int) -> int:
    if number not in _sessions:
        raise ToolError("INVALID_SESSION")
    return number


@tool("pvar_session_free")
def _pvar_session_free(session: int) -> None:
    held = ctypes.c_size_t.from_address(session)
    _sessions.remove(_session(held.value))
    held.value = 0


@tool("pvar_handle_alloc")
def _pvar_handle_alloc(session: int, pvar_index: int, obj_handle: int, handle: int, count: Any) -> None:
    _session(session)
    _new_handle(_at(_performance(), pvar_index), handle, count)


@tool("pvar_handle_free")
def _pvar_handle_free(session: int, handle: int) -> None:
    _session(session)
    _free(handle)


@tool("pvar_read")
def _pvar_read(session: int, handle: int, buf: int) -> None:
    _session(session)
    _read(_handle(handle), buf)


def _refuse(name: str, why: str) -> None:
    """Variables run on by themselves: none can be started, stopped or set. Of all handles that is no error."""

    @tool(name)
    def call(session: int, handle: int) -> None:
        _session(session)
        if handle != _ALL_HANDLES:
            _handle(handle)
            raise ToolError(why)


_refuse("pvar_start", "PVAR_NO_STARTSTOP")
_refuse("pvar_stop", "PVAR_NO_STARTSTOP")
_refuse("pvar_reset", "PVAR_NO_WRITE")


def _no_write(name: str) -> None:
    @tool(name)
    def call(session: int, handle: int, buf: int) -> None:
        _session(session)
        _handle(handle)
        raise ToolError("PVAR_NO_WRITE")


_no_write("pvar_write")
_no_write("pvar_readreset")

# Categories; there are no enumerations, events or sources of events


@tool("category_get_num")
def _category_get_num(num_cat: Any) -> None:
    _put(num_cat, len(_CATEGORIES))


@tool("category_get_info")
def _category_get_info(
    cat_index: int,
    name: Any,
    name_len: Any,
    desc: Any,
    desc_len: Any,
    num_cvars: Any,
    num_pvars: Any,
    num_categories: Any,
) -> None:
    title, text = _at(_CATEGORIES, cat_index)
    _put_text(name, name_len, title)
    _put_text(desc, desc_len, text)
    _put(num_cvars, len(_control()) if cat_index == CONTROL else 0)
    _put(num_pvars, len(_performance()) if cat_index == PERFORMANCE else 0)
    _put(num_categories, 0)


@tool("category_get_index")
def _category_get_index(name: str, cat_index: Any) -> None:
    names = [title for title, _ in _CATEGORIES]
    if name not in names:
        raise ToolError("INVALID_NAME")
    _put(cat_index, names.index(name))


def _members(name: str, category: int, found: Callable[[], list[Variable]]) -> None:
    @tool(name)
    def call(cat_index: int, len: int, indices: Any) -> None:
        _at(_CATEGORIES, cat_index)
        held = found() if cat_index == category else []
        for index, _ in zip(range(len), held, strict=False):
            indices[index] = index


_members("category_get_cvars", CONTROL, _control)
_members("category_get_pvars", PERFORMANCE, _performance)
_members("category_get_categories", -1, list)
_members("category_get_events", -1, list)


@tool("category_get_num_events")
def _category_get_num_events(cat_index: int, num_events: Any) -> None:
    _at(_CATEGORIES, cat_index)
    _put(num_events, 0)


@tool("category_changed")
def _category_changed(update_number: Any) -> None:
    """Variables come with MPI_Init."""
    _put(update_number, int(abi.phase is not Phase.BEFORE))


@tool("event_get_num")
def _event_get_num(num_events: Any) -> None:
    _put(num_events, 0)


@tool("source_get_num")
def _source_get_num(num_sources: Any) -> None:
    _put(num_sources, 0)
