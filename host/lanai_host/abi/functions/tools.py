"""The tools interface (MPI_T): reads variables. They are there between MPI_Init and MPI_Finalize,
and none can be set.

Its calls never call error handlers: they return codes of their own. Any output may be a null
pointer.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from ...mpi.constants import ThreadLevel
from ...mpi.session import Variable
from .. import tools
from ..binding import bind
from ..context import Phase, abi
from ..failures import ToolError
from ..tools import (
    at,
    begun_already,
    constant,
    control,
    free,
    handle_of,
    index_of,
    new_handle,
    numbers,
    performance,
    put,
    put_address,
    put_text,
    read,
    sessions,
    tool,
    value_type,
)

_ALL_HANDLES = 0  # MPI_T_PVAR_ALL_HANDLES

# Begin and end


def _init(required: int) -> ThreadLevel:
    tools.begin()
    return ThreadLevel.MULTIPLE


bind("MPI_T_init_thread", _init, always=True)
bind("MPI_T_finalize", tools.end, always=True)

# Control variables


@tool("cvar_get_num")
def _cvar_get_num(num_cvar: Any) -> None:
    put(num_cvar, len(control()))


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
    variable = at(control(), cvar_index)
    _describe(variable, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind)
    put(scope, constant("SCOPE_CONSTANT"))


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
    """Write the properties that variables of both kinds have."""
    put_text(name, name_len, variable.name)
    put_text(desc, desc_len, variable.text)
    put(verbosity, constant("VERBOSITY_USER_BASIC"))
    put(datatype, value_type())
    put_address(enumtype, 0)
    put(bind, constant("BIND_NO_OBJECT"))


@tool("cvar_get_index")
def _cvar_get_index(name: str, cvar_index: Any) -> None:
    put(cvar_index, index_of(control(), name))


@tool("cvar_handle_alloc")
def _cvar_handle_alloc(cvar_index: int, obj_handle: int, handle: int, count: Any) -> None:
    new_handle(at(control(), cvar_index), handle, count)


@tool("cvar_handle_free")
def _cvar_handle_free(handle: int) -> None:
    free(handle)


@tool("cvar_read")
def _cvar_read(handle: int, buf: int) -> None:
    read(handle_of(handle), buf)


@tool("cvar_write")
def _cvar_write(handle: int, buf: int) -> None:
    handle_of(handle)
    raise ToolError("CVAR_SET_NEVER")


# Performance variables


@tool("pvar_get_num")
def _pvar_get_num(num_pvar: Any) -> None:
    put(num_pvar, len(performance()))


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
    variable = at(performance(), pvar_index)
    _describe(variable, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind)
    put(var_class, _class(variable))
    for flag, value in ((readonly, 1), (continuous, 1), (atomic, 0)):
        put(flag, value)


def _class(variable: Variable) -> int:
    return constant(f"PVAR_CLASS_{variable.kind.value}")


@tool("pvar_get_index")
def _pvar_get_index(name: str, var_class: int, pvar_index: Any) -> None:
    found = performance()
    index = index_of(found, name)
    if _class(found[index]) != var_class:
        raise ToolError("INVALID_NAME")
    put(pvar_index, index)


@tool("pvar_session_create")
def _pvar_session_create(session: int) -> None:
    number = next(numbers)
    sessions.add(number)
    put_address(session, number)


def _session(number: int) -> int:
    if number not in sessions:
        raise ToolError("INVALID_SESSION")
    return number


@tool("pvar_session_free")
def _pvar_session_free(session: int) -> None:
    held = ctypes.c_size_t.from_address(session)
    sessions.remove(_session(held.value))
    held.value = 0


@tool("pvar_handle_alloc")
def _pvar_handle_alloc(session: int, pvar_index: int, obj_handle: int, handle: int, count: Any) -> None:
    _session(session)
    new_handle(at(performance(), pvar_index), handle, count)


@tool("pvar_handle_free")
def _pvar_handle_free(session: int, handle: int) -> None:
    _session(session)
    free(handle)


@tool("pvar_read")
def _pvar_read(session: int, handle: int, buf: int) -> None:
    _session(session)
    read(handle_of(handle), buf)


def _refuse(name: str, why: str) -> None:
    """Variables run on by themselves: none can be started, stopped or set. Of all handles that is
    no error."""

    @tool(name)
    def call(session: int, handle: int) -> None:
        _session(session)
        if handle != _ALL_HANDLES:
            handle_of(handle)
            raise ToolError(why)


_refuse("pvar_start", "PVAR_NO_STARTSTOP")
_refuse("pvar_stop", "PVAR_NO_STARTSTOP")
_refuse("pvar_reset", "PVAR_NO_WRITE")


def _no_write(name: str) -> None:
    @tool(name)
    def call(session: int, handle: int, buf: int) -> None:
        _session(session)
        handle_of(handle)
        raise ToolError("PVAR_NO_WRITE")


_no_write("pvar_write")
_no_write("pvar_readreset")


# The objects of the tools interface (MPI_T) that do not exist here: events, their sources, enumerations. A call that
# names one of them is an error.


def _none(call: str, inputs: str, why: str) -> None:
    """Bind MPI_T_`call`, which finds nothing: `why` is the error."""

    def refuse(*values: Any) -> None:
        begun_already()
        raise ToolError(why)

    bind(f"MPI_T_{call}", refuse, inputs, always=True)


_none("enum_get_info", "enumtype num name name_len", "INVALID_HANDLE")
_none("enum_get_item", "enumtype indx value name name_len", "INVALID_HANDLE")
_none("event_get_index", "name event_index", "INVALID_NAME")
_none(
    "event_get_info",
    "event_index name name_len verbosity array_of_datatypes array_of_displacements num_elements enumtype info desc"
    " desc_len bind",
    "INVALID_INDEX",
)
_none("event_handle_alloc", "event_index obj_handle info event_registration", "INVALID_INDEX")
_none("event_handle_free", "event_registration user_data free_cb_function", "INVALID_HANDLE")
_none("event_handle_get_info", "event_registration info_used", "INVALID_HANDLE")
_none("event_handle_set_info", "event_registration info", "INVALID_HANDLE")
_none("event_register_callback", "event_registration cb_safety info user_data event_cb_function", "INVALID_HANDLE")
_none("event_callback_get_info", "event_registration cb_safety info_used", "INVALID_HANDLE")
_none("event_callback_set_info", "event_registration cb_safety info", "INVALID_HANDLE")
_none("event_set_dropped_handler", "event_registration dropped_cb_function", "INVALID_HANDLE")
_none("event_read", "event_instance element_index buffer", "INVALID_HANDLE")
_none("event_copy", "event_instance buffer", "INVALID_HANDLE")
_none("event_get_timestamp", "event_instance event_timestamp", "INVALID_HANDLE")
_none("event_get_source", "event_instance source_index", "INVALID_HANDLE")
_none(
    "source_get_info",
    "source_index name name_len desc desc_len ordering ticks_per_second max_ticks info",
    "INVALID_INDEX",
)
_none("source_get_timestamp", "source_index timestamp", "INVALID_INDEX")


# Categories of the variables of the tools interface (MPI_T), and how many events it has: none.

CONTROL, PERFORMANCE = 0, 1  # the categories, in this order
_CATEGORIES = (
    ("control", "what the host's own work costs in simulated time"),
    ("performance", "simulated time, and what the NIC counts"),
)


@tool("category_get_num")
def _category_get_num(num_cat: Any) -> None:
    put(num_cat, len(_CATEGORIES))


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
    title, text = at(_CATEGORIES, cat_index)
    put_text(name, name_len, title)
    put_text(desc, desc_len, text)
    put(num_cvars, len(control()) if cat_index == CONTROL else 0)
    put(num_pvars, len(performance()) if cat_index == PERFORMANCE else 0)
    put(num_categories, 0)


@tool("category_get_index")
def _category_get_index(name: str, cat_index: Any) -> None:
    names = [title for title, _ in _CATEGORIES]
    if name not in names:
        raise ToolError("INVALID_NAME")
    put(cat_index, names.index(name))


def _members(name: str, category: int, found: Callable[[], list[Variable]]) -> None:
    @tool(name)
    def call(cat_index: int, len: int, indices: Any) -> None:
        at(_CATEGORIES, cat_index)
        held = found() if cat_index == category else []
        for index, _ in zip(range(len), held, strict=False):
            indices[index] = index


_members("category_get_cvars", CONTROL, control)
_members("category_get_pvars", PERFORMANCE, performance)
_members("category_get_categories", -1, list)
_members("category_get_events", -1, list)


@tool("category_get_num_events")
def _category_get_num_events(cat_index: int, num_events: Any) -> None:
    at(_CATEGORIES, cat_index)
    put(num_events, 0)


@tool("category_changed")
def _category_changed(update_number: Any) -> None:
    """Variables come with MPI_Init."""
    put(update_number, int(abi.phase is not Phase.BEFORE))


@tool("event_get_num")
def _event_get_num(num_events: Any) -> None:
    put(num_events, 0)


@tool("source_get_num")
def _source_get_num(num_sources: Any) -> None:
    put(num_sources, 0)
