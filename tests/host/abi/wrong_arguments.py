"""A C program, generated from mpi.h, that passes every wrong value of `lanai_host.abi.arguments` to
every function."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from lanai_host.abi.arguments import NULL_TYPES, Prototype, Refusal, Wrong, refusals
from lanai_host.abi.flavor import HANDLES, INTERFACE, STANDARD, Flavor
from lanai_host.abi.library import library_directory
from lanai_host.mpi.errors import ErrorClass

from .jobs import C, mpicc

_HANDLES = {
    "MPI_Comm": "comm",
    "MPI_Datatype": "MPI_INT",
    "MPI_Group": "group",
    "MPI_Op": "MPI_SUM",
    "MPI_Errhandler": "errhandler",
    "MPI_Request": "pending",
    "MPI_Info": "info",
    "MPI_Session": "session",
    "MPI_File": "file",
    "MPI_Win": "win",
}
_ARRAYS = {
    "int": "ints",
    "MPI_Count": "counts",
    "MPI_Aint": "aints",
    "MPI_Datatype": "types",
    "MPI_Request": "requests",
}
_NUMBERS = {
    **dict.fromkeys(("root", "rank", "local_leader", "remote_leader", "color", "key", "direction", "lb", "flag"), "0"),
    **dict.fromkeys(("partition", "partition_low", "partition_high"), "0"),
    **dict.fromkeys(("tag", "sendtag", "recvtag", "p", "r"), "3"),
    **dict.fromkeys(("dest", "source"), "MPI_PROC_NULL"),
    **dict.fromkeys(("target_rank", "target_disp", "assert_"), "0"),
    "lock_type": "MPI_LOCK_SHARED",
    "win_keyval": "win_keyval",
    **dict.fromkeys(("comm_keyval", "keyval"), "comm_keyval"),
    **dict.fromkeys(("errorcode", "errorclass"), "own_class"),
    **dict.fromkeys(("outsize", "insize"), "64"),
    "amode": "MPI_MODE_RDWR",
    "whence": "MPI_SEEK_SET",
    "type_keyval": "type_keyval",
    "split_type": "MPI_COMM_TYPE_SHARED",
    "typeclass": "MPI_TYPECLASS_INTEGER",
    "order": "MPI_ORDER_C",
    "size": "4",
    "extent": "8",
    "valuelen": "20",
}
_OF_ONES = {"dims", "periods", "indx", "recvcounts", "sendcounts", "array_of_blocklengths", "array_of_sizes"}
_OF_ONES |= {"array_of_subsizes", "array_of_gsizes", "array_of_psizes"}
_TEXTS = {"key": '"key"', "datarep": '"external32"', "pset_name": '"mpi://SELF"'}
# Handles that a call changes.
IN_OUT = {
    ("Comm_free", "comm"): "spare_comm",
    ("Comm_disconnect", "comm"): "spare_comm",
    ("Comm_spawn_multiple", "array_of_info"): "(MPI_Info){MPI_INFO_NULL}",
    ("Group_free", "group"): "group",
    ("Info_free", "info"): "info",
    ("Op_free", "op"): "op",
    ("Errhandler_free", "errhandler"): "errhandler",
    ("Type_commit", "datatype"): "fresh",
    ("Type_free", "datatype"): "fresh",
    **{(name, "request"): "pending" for name in ("Wait", "Test", "Request_free", "Cancel")},
    ("Start", "request"): "persistent",
    ("Mrecv", "message"): "message",
    ("Imrecv", "message"): "message",
    ("Session_finalize", "session"): "session",
    ("File_close", "fh"): "spare_file",
    ("Win_free", "win"): "spare_win",
}
_REQUESTED = ("Rput", "Rget", "Raccumulate", "Rget_accumulate")
_PASSIVE = ("unlock", "flush", "flush_local")
_SPECIAL = {
    ("Comm_create", "group"): "whole",
    ("Comm_create_group", "group"): "whole",
    ("Group_range_incl", "n"): "1",
    ("Parrived", "request"): "precv",
    **{(name, "request"): "psend" for name in ("Pready", "Pready_list", "Pready_range")},
    ("Grequest_complete", "request"): "grequest",
    ("Startall", "array_of_requests"): "persistents",
    ("Info_get_nthkey", "n"): "0",
    ("Session_get_nth_pset", "n"): "0",
    **{(f"Type_{what}", "datatype"): "derived" for what in ("get_contents", "set_attr", "get_attr", "delete_attr")},
    ("Type_create_darray", "size"): "1",
    ("Register_datarep", "datarep"): '"fresh"',
    **{(f"Win_{what}", "win"): "dynamic_win" for what in ("attach", "detach")},
    **{(name, "win"): "locked_win" for name in _REQUESTED},
    **{(f"Win_{what}", "win"): "locked_win" for what in _PASSIVE},
    **{(f"Win_{what}", "win"): "idle_win" for what in ("fence", "start", "post", "lock", "lock_all")},
    ("Dist_graph_create", "degrees"): "ints1",
}


def valid(function: str, parameter: tuple[str, str, int, bool]) -> str:
    """C text of a value that the function takes."""
    name, base, pointers, const = parameter
    stem = function.removeprefix("MPI_").removesuffix("_c")
    if (stem, name) in _SPECIAL:
        return _SPECIAL[stem, name]
    if (stem, name) in IN_OUT:
        return f"&{IN_OUT[stem, name]}"
    if base == "MPI_Comm" and pointers == 0:
        return _communicator(stem.lower(), name)
    if base in HANDLES:
        return _handle(name, base, pointers)
    if base == "MPI_Status":
        return "statuses" if name.startswith("array") else "&status"
    if base in ("MPI_F08_status", "MPI_Fint"):  # a status in Fortran's forms
        return "&f08_status" if base == "MPI_F08_status" else "ints"
    if base == "char":
        return (_TEXTS.get(name, '"name"') if const else "text") if pointers == 1 else "0"
    if base == "void":
        return "&out_pointer" if name in ("attribute_val", "baseptr", "buffer_addr") else "sent" if const else "got"
    if "_function" in base:
        return f"({base} *)nothing"
    return _plain(stem, name, base, pointers, const)


def _communicator(stem: str, name: str) -> str:
    if name == "comm_old" or stem.endswith("_map"):
        return "comm"
    kinds = (("dist_graph", "dist"), ("graph", "graph"), ("cart", "cart"), ("neighbor", "cart"))
    return next((made for part, made in kinds if part in stem), "comm")


def _handle(name: str, base: str, pointers: int) -> str:
    if pointers == 0:
        return _HANDLES[base]
    if name.startswith("array_of") or name in ("sendtypes", "recvtypes"):
        return _ARRAYS[base]
    return f"&out_{base.removeprefix('MPI_').lower()}"


def _plain(stem: str, name: str, base: str, pointers: int, const: bool) -> str:
    """A number, a pointer to one, or an array."""
    if pointers == 0:
        return _NUMBERS.get(name, "1")
    if pointers == 2:
        return "ranges"
    if name.endswith("_keyval") or name == "keyval":
        free = stem.endswith("free_keyval") or stem == "Keyval_free"
        kind = next((kind for kind in ("type", "win") if kind in stem.lower()), "comm")
        return f"&{kind}_keyval" if free else "&out_int"
    arrays = ("array_of", "sources", "destin", "neighbors", "dims", "periods", "coords", "edges", "ranks", "destw")
    if const or name.startswith((*arrays, "sourcew")):
        return _ARRAYS[base] + ("1" if name in _OF_ONES else "")
    return f"&out_{base.lower().removeprefix('mpi_')}"


_NO_HANDLE = "0x0bad0bad"


def wrong_values(refusal: Refusal, parameter: tuple[str, str, int, bool], usual: str) -> list[str]:
    """C texts of the wrong value."""
    _, base, pointers, _ = parameter
    if refusal.wrong is Wrong.NULL:
        values = ["0"]
        if base in HANDLES and usual.startswith("&") and not usual.startswith("&out_"):
            values += _held(base)
        return values
    if refusal.wrong is Wrong.NEGATIVE:
        return ["-5"]
    if refusal.wrong is Wrong.IGNORED:
        return ["MPI_STATUS_IGNORE"]
    if refusal.wrong is Wrong.TOO_LARGE:
        return ["1"]
    if refusal.wrong is Wrong.NULL_HANDLE:
        return [f"{base.upper()}_NULL"] if pointers == 0 else []
    other = "MPI_INT" if base != "MPI_Datatype" else "MPI_COMM_WORLD"
    if pointers:
        return []
    freed = [_freed(base)] if base in _FREED else []
    return [f"({base}){_NO_HANDLE}", f"({base}){other}", *freed]


def _held(base: str) -> list[str]:
    """Pointers to something that is not a handle."""
    hold = f"hold_{base.removeprefix('MPI_').lower()}"
    freed = [f"({hold} = {_freed(base)}, &{hold})"] if base in _FREED else []
    return [f"({hold} = ({base}){_NO_HANDLE}, &{hold})", *freed]


_FREED = set(HANDLES) - {"MPI_Message"}


def _freed(base: str) -> str:
    """A handle whose object the program has freed."""
    return f"freed_{base.removeprefix('MPI_').lower()}"


BOUND = (
    "import ctypes, os; ctypes.CDLL(os.environ['LIB']).MPI_Init(None, None);"
    "import json; from lanai_host.abi.binding import BINDINGS; print(json.dumps(sorted(BINDINGS)))"
)
# Calls that begin or end what the program needs.
NOT_CALLED = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Session_init"}
LIBRARY_COUNTS = ("sendcount", "recvcount")  # of collectives: the library knows whether they mean something here
_ELEMENTS = {"count", "incount", "sendcount", "recvcount"}
_PEERS = {"dest", "source"}


class Case(NamedTuple):
    """One call with one wrong argument. `place`: whose error handler must be called, as `called` in
    the program names it, with "C" for the communicator's; `call`: the C text."""

    function: str
    refusal: Refusal
    value: str
    place: str
    call: str


def bound_prototypes(flavor: Flavor) -> dict[str, Prototype]:
    """The functions that the library has, with their parameters."""
    directory = library_directory(flavor.name)
    environment = {**os.environ, "LIB": str(directory / flavor.soname)}
    done = subprocess.run([sys.executable, "-c", BOUND], env=environment, capture_output=True, text=True, check=True)
    bound = set(json.loads(done.stdout.splitlines()[-1]))
    functions = json.loads((directory / INTERFACE).read_text())["functions"]
    return {
        name: [tuple(parameter) for parameter in parameters]
        for name, (result, parameters) in functions.items()
        if result == "int" and (name in bound or name.removesuffix("_c") in bound)
    }


def compile_for(flavor: Flavor, source: Path) -> str:
    """The generated program, compiled with `lanai mpicc`. It has no debugging information, which Zig adds: each process
    that ends by an error would look for its line among those of all cases."""
    binary = source.with_suffix("")
    abi = ["-mpi-abi"] if flavor is STANDARD else []
    mpicc(*abi, "-w", "-O0", "-g0", "-I", str(C), str(source), "-o", str(binary))
    return str(binary)


def answers(text: str) -> dict[int, tuple[str, ...]]:
    """Return the answers that the program printed: {case: (class or how it ended, handlers, text)}."""
    rows = (line.split("|", 3) for line in text.splitlines() if line.count("|") >= 3 and line.split("|")[0].isdigit())
    return {int(number): tuple(rest) for number, *rest in rows}


def cases(functions: dict[str, Prototype], null_ignores: bool) -> list[Case]:
    """All of them, for these prototypes. `null_ignores`: MPI_STATUS_IGNORE is the null pointer, as
    in the standard ABI."""
    found = []
    for function, parameters in sorted(functions.items()):
        if function in NOT_CALLED or not function.startswith("MPI_"):
            continue
        usual = [valid(function, parameter) for parameter in parameters]
        for refusal in refusals(function, parameters):
            index = next(index for index, parameter in enumerate(parameters) if parameter[0] == refusal.argument)
            if null_ignores and refusal.wrong is Wrong.NULL and parameters[index][1:] == ("MPI_Status", 1, False):
                continue
            place = _place(function, parameters, refusal)
            for value in wrong_values(refusal, parameters[index], usual[index]):
                passed = [*usual[:index], value, *usual[index + 1 :]]
                for others in _variations(function, parameters, passed, refusal):
                    found.append(Case(function, refusal, value, place, f"{function}({', '.join(others)})"))
    return found


def _variations(function: str, parameters: Prototype, passed: list[str], refusal: Refusal) -> list[list[str]]:
    """The arguments, and if a null datatype is among them the same with nothing to send, and with a
    process to send it to. Some functions refuse one only if there is something to send."""
    found = [passed]
    if refusal.error is not ErrorClass.TYPE or refusal.wrong is not Wrong.NULL_HANDLE:
        return found
    if function.removesuffix("_c") in NULL_TYPES:
        return [["0" if one[0] in _PEERS else value for one, value in zip(parameters, passed, strict=True)]]
    for names, value in ((_ELEMENTS, "0"), (_PEERS, "0")):
        for others in list(found):
            changed = [
                value if parameter[0] in names and parameter[2] == 0 else argument
                for parameter, argument in zip(parameters, others, strict=True)
            ]
            if changed not in found:
                found.append(changed)
    return found


def program(all_cases: list[Case]) -> str:
    """The C text."""
    bodies = [f"static int case_{number}(void) {{ return {case.call}; }}" for number, case in enumerate(all_cases)]
    names = ", ".join(f"case_{number}" for number in range(len(all_cases)))
    table = f"static int (*const cases[])(void) = {{{names}}};"
    text = ['#include "wrong_arguments.h"', *bodies, named_classes(), table, '#include "wrong_arguments_main.h"']
    return "\n".join([*text, ""])


def named_classes() -> str:
    """A C function that names an error class."""
    classes = "\n".join(
        f'    if (class == MPI_ERR_{one.name}) return "{one.name}";'
        for one in ErrorClass
        if one is not ErrorClass.SUCCESS
    )
    return f'static const char *name_of(int class) {{\n{classes}\n    return class ? "?" : "SUCCESS";\n}}'


def error_class(case: Case, parameters: Prototype) -> ErrorClass:
    """The class of the right answer: of a pointer to a wrong handle, the handle's."""
    if case.value.startswith("(hold_"):
        base = next(parameter[1] for parameter in parameters if parameter[0] == case.refusal.argument)
        return ErrorClass.REQUEST if base == "MPI_Message" else ErrorClass[_CLASS_NAMES.get(base, base[4:].upper())]
    return case.refusal.error


_CLASS_NAMES = {"MPI_Datatype": "TYPE"}


def _place(function: str, parameters: Prototype, refusal: Refusal) -> str:
    """The handler that is called: "C" the communicator's, "N" the window's, "X" the session's, "F" the
    file's, "L" MPI_FILE_NULL's, "S" MPI_COMM_SELF's."""
    stem = function.removeprefix("MPI_").removesuffix("_c")
    if stem.startswith(("File_", "Register_datarep")):
        handles = [name for name, base, *_ in parameters if base == "MPI_File" and stem != "File_open"]
        return "F" if handles and handles[0] != refusal.argument else "L"
    for base, place in (
        ("MPI_Comm", "C"),
        ("MPI_Win", "N"),
        ("MPI_Session", "X"),
        ("MPI_Request", "C"),
        ("MPI_Message", "C"),
    ):
        for name, kind, pointers, _ in parameters:
            mine = kind == base and (pointers == 0 or (stem, name) in IN_OUT or name.startswith("array_of_requests"))
            if mine and stem != "Grequest_complete":
                unread = refusal.argument in ("count", "incount") and name.startswith("array_of")
                return "S" if unread or name == refusal.argument else place
    if any(parameter[1] == "MPI_Errhandler" and parameter[2] == 0 for parameter in parameters):
        return "S" if refusal.argument == "errhandler" else "O"
    return "S"
