"""From a Python function to what C calls: arguments converted as the prototype says, errors handed
to their handlers.

A binding names the inputs that it wants by their C names: those of its function's parameters, or
those that `bind` is given. Handles arrive as objects, `void *` as addresses, strings as str, const
statuses as `Status`; arrays as pointers. Output parameters that it does not name are filled from
its result, in order (a tuple if there are several). A parameter `large` is true for calls with the
`_c` binding.
"""

import inspect
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from ..mpi.constants import UNDEFINED, ThreadLevel
from ..mpi.datatypes import NO_DATATYPE
from ..mpi.errors import unsupported
from . import arguments as checks
from . import in_c, places
from .arguments import NULL_TYPES
from .context import Phase, abi
from .failures import elsewhere, failed, outside, tool_failed

INT_MAX = 2**31 - 1
# functions of the tools interface: they look at their arguments themselves, and answer by codes of
# their own
TOOLS = "MPI_T_"


@dataclass(frozen=True)
class Binding:
    """`inputs`: the C names of the function's arguments. `lenient`: datatypes and operations may be
    insignificant. `always`: may be called before MPI_Init and after MPI_Finalize. `anywhere`: by
    any thread, whatever the thread level. `raw`: inputs that come as C has them, since they mean
    something at one process only. `answers`: the int that C gets is the result, and no error
    code."""

    function: Callable[..., Any]
    inputs: tuple[str, ...]
    lenient: bool = False
    always: bool = False
    anywhere: bool = False
    raw: tuple[str, ...] = ()
    answers: bool = False


BINDINGS: dict[str, Binding] = {}


def bind(
    name: str,
    function: Callable[..., Any],
    inputs: str = "",
    *,
    lenient: bool = False,
    always: bool = False,
    anywhere: bool = False,
    raw: str = "",
    answers: bool = False,
) -> None:
    """Bind `function` to an MPI function, and to its `_c` variant. `inputs` names its arguments as
    C does, in its order, where its own parameters have other names. `raw` names those that come as
    C has them. `answers`: C gets its result instead of an error code."""
    names = tuple(inputs.split()) or tuple(inspect.signature(function).parameters)
    BINDINGS[name] = Binding(function, names, lenient, always, anywhere, tuple(raw.split()), answers)


def binding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: bind a function under its own name."""
    bind(function.__name__, function)
    return function


def always(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the same, for a call that is legal at any time."""
    bind(function.__name__, function, always=True)
    return function


def anywhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the same, for a call that every thread may make between MPI_Init and
    MPI_Finalize."""
    bind(function.__name__, function, anywhere=True)
    return function


def find(name: str) -> Binding | None:
    return BINDINGS.get(name) or BINDINGS.get(name.removesuffix("_c"))


Prototype = list[Any]  # [result, [[name, base, pointers, const], ...]] as `library.interface` writes it


def make(name: str, prototype: Prototype) -> Callable[..., Any]:
    """The function that C calls for `name`."""
    result, parameters = prototype
    found = find(name)
    if found is None:
        return _unsupported(name, result)
    text, names = _source(name, result, parameters, found)
    exec(compile(text, f"<binding of {name}>", "exec"), names)
    made: Callable[..., Any] = names["entry"]
    return made


def _source(name: str, result: str, parameters: list[Any], found: Binding) -> tuple[str, dict[str, Any]]:
    """Python text of the entry, and the names that it uses."""
    wanted = found.inputs
    names: dict[str, Any] = {"abi": abi, "function": found.function, "failed": failed, "outside": outside}
    names["RUNNING"] = Phase.RUNNING
    arguments, outputs = [], []
    by_name = {parameter[0]: parameter for parameter in parameters}
    for want in wanted:
        if want == "large":
            arguments.append(str(name.endswith("_c")))
        else:
            arguments.append(_convert(name, by_name[want], found, names))
    names["find_place"], place = places.finder(name, parameters, wanted)
    handles = [_convert(name, p, found, names) for p in parameters if _is_unread_handle(p, wanted)]
    for parameter in parameters:
        if parameter[0] not in wanted and parameter[2] and not parameter[3]:
            outputs.append(parameter)
    own = ", ".join(p[0] for p in parameters)
    before = [] if found.always else [f"    if abi.phase is not RUNNING: return outside({name!r})"]
    if abi.phase is Phase.RUNNING and not found.always:
        before += _threads(name, own, place, found, names)
    call = f"function({', '.join(arguments)})"
    null_status = not abi.constants["MPI_STATUS_IGNORE"]
    of_tools = name.startswith(TOOLS)
    checked = result == "int" and not of_tools
    inside = checks.lines(name, parameters, found.lenient, null_status, names) if checked else []
    inside += [*handles, *([f"return {call}"] if found.answers else _results(name, call, result, outputs, names))]
    lines = ["    try:", *(f"        {line}" for line in inside)]
    lines += ["    except Exception as error:", *(f"        {line}" for line in _nulls(outputs))]
    lines += [f"        return failed({name!r}, error, find_place, {place})"]
    if of_tools:
        names["tool_failed"] = tool_failed
        lines[-1] = f"        return tool_failed({name!r}, error)"
    entry = [f"def entry({own}):", *before, *lines]
    return "\n".join([f"def body({own}):", *lines, *entry]), names


def _nulls(outputs: list[Any]) -> list[str]:
    """Handles that a failed call did not make."""
    tables = [(own, abi.table_of(base)) for own, base, *_ in outputs]
    return [f"if {own}: {own}[0] = {table.null}" for own, table in tables if table is not None]


def _is_unread_handle(parameter: list[Any], wanted: Collection[str]) -> bool:
    """A handle that the library has no use for must be valid all the same."""
    return parameter[2] == 0 and parameter[0] not in wanted and abi.table_of(parameter[1]) is not None


def _threads(name: str, own: str, place: str, found: Binding, names: dict[str, Any]) -> list[str]:
    """Return the lines by which each call checks the thread level. A function is made when first called, and then the
    level is known.
    """
    progress = abi.world.process.progress
    if abi.world.thread_level == ThreadLevel.MULTIPLE:
        if progress.order is None:
            return []
        names |= {"_count": progress.count, "_usual": progress.usual_threads, "_order": progress.order}
        return [
            "    if _count() > _usual:",  # other threads: the whole call has a turn of its own
            "        with _order:",
            f"            return body({own})",
        ]
    if found.anywhere or abi.world.thread_level == ThreadLevel.SERIALIZED:
        return []
    names |= {"_thread": threading.get_ident, "_main": abi.world.main_thread, "_elsewhere": elsewhere}
    return [f"    if _thread() != _main: return _elsewhere({name!r}, find_place, {place})"]


def _convert(name: str, parameter: list[Any], found: Binding, names: dict[str, Any]) -> str:
    own, base, pointers, const = parameter
    if own in found.raw:
        return str(own)
    if pointers == 0:
        table = abi.table_of(base)
        if table is None:
            return _number(name, own, names)
        if base == "MPI_File" and name.endswith("_errhandler"):  # the null handle has one too
            names["any_file"] = abi.any_file
            return f"any_file({own})"
        if name.endswith("_get_name"):  # null handles have names too
            names[base] = table
            return f"({base}[{own}] if {own} != {table.null} else None)"
        if base == "MPI_Datatype":
            return _datatype(own, found.lenient, name.removesuffix("_c") in NULL_TYPES, names)
        if base == "MPI_Op" and found.lenient:
            names["any_op"] = abi.any_op
            return f"any_op({own})"
        names[base] = table
        return f"{base}[{own}]"
    if pointers == 1 and const and base == "char":
        names["text"] = abi.text
        return f"text({own})"
    if pointers == 1 and const and base == "MPI_Status":
        names["get_status"] = abi.get_status
        return f"get_status({own})"
    return _number(name, own, names)


def _datatype(own: str, lenient: bool, null: bool, names: dict[str, Any]) -> str:
    """`lenient`: what is not a handle will do, where the argument may be insignificant. `null`:
    MPI_DATATYPE_NULL will do, where there may be no elements. Each send and receive passes here: no call
    more than needed."""
    if lenient:
        names["any_type"] = abi.any_type_or_null if null else abi.any_type
        return f"any_type({own})"
    names |= {"MPI_Datatype": abi.types, "no_datatype": NO_DATATYPE}
    found = f"MPI_Datatype[{own}]"
    return f"({found} if {own} != {abi.types.null} else no_datatype)" if null else found


def _number(name: str, own: str, names: dict[str, Any]) -> str:
    """A number or an address, as the library knows it."""
    numbers = abi.numbers.of(name, own) if abi.numbers else None
    if numbers is None:
        return own
    names[f"in_{own}"] = numbers.inward
    return f"in_{own}({own})"


def _results(name: str, call: str, result: str, outputs: list[Any], names: dict[str, Any]) -> list[str]:
    if result != "int":
        return [f"return {call}"]
    if not outputs:
        return [call, "return 0"]
    written = [output for output in outputs if output[0] != "resultlen"]
    values = [f"r{index}" for index in range(len(written))]
    lines = [f"{', '.join(values)} = {call}"]
    for value, output in zip(values, written, strict=True):
        lines.append(_write(name, value, output, outputs, names))
    return [*lines, "return 0"]


def _write(name: str, value: str, output: list[Any], outputs: list[Any], names: dict[str, Any]) -> str:
    own, base, _, _ = output
    if base == "MPI_Status":
        names["put_status"] = abi.put_status
        return f"put_status({own}, {value})"
    if base == "char":
        names["put_text"] = abi.put_text
        length = "resultlen[0] = " if any(o[0] == "resultlen" for o in outputs) else ""
        return f"{length}put_text({own}, {value}, {abi.constants[_SIZES[own]]})"
    table = abi.table_of(base)
    if table is not None:
        names[f"put_{base}"] = _PUT_BY.get(name.removesuffix("_c")) or _PUT.get(base, table.put)
        return f"{own}[0] = put_{base}({value})"
    if base == "int" and own in ("size", "count"):
        return f"{own}[0] = {value} if {value} <= {INT_MAX} else {UNDEFINED}"
    numbers = abi.numbers.of(name, own) if abi.numbers else None
    if numbers is not None:
        names[f"out_{own}"] = numbers.outward
        return f"{own}[0] = out_{own}({value})"
    return f"{own}[0] = {value}"


# The size of a string buffer, by the name of the parameter.
_SIZES = {
    "comm_name": "MPI_MAX_OBJECT_NAME",
    "win_name": "MPI_MAX_OBJECT_NAME",
    "type_name": "MPI_MAX_OBJECT_NAME",
    "key": "MPI_MAX_INFO_KEY",
    "name": "MPI_MAX_PROCESSOR_NAME",
    "string": "MPI_MAX_ERROR_STRING",
    "datarep": "MPI_MAX_DATAREP_STRING",
    "port_name": "MPI_MAX_PORT_NAME",
    "version": "MPI_MAX_LIBRARY_VERSION_STRING",
}
_PUT: dict[str, Callable[[Any], int]] = {
    "MPI_Group": abi.put_group,
    "MPI_Datatype": abi.put_type,
    "MPI_Message": abi.put_message,
}

_PUT_BY: dict[str, Callable[[Any], int]] = dict.fromkeys(("MPI_Psend_init", "MPI_Precv_init"), in_c.put_partitioned)


def _unsupported(name: str, result: str) -> Callable[..., Any]:
    def entry(*arguments: Any) -> Any:
        if abi.phase is not Phase.RUNNING:
            return outside(name)
        code = failed(name, unsupported(name))
        return code if result == "int" else 0

    return entry
