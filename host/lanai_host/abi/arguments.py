"""The values that each MPI function refuses, by argument, and the error class of each.

The type and the name of a parameter in mpi.h say what it is; where a name does not mean the same in
all functions, a row of `_EXCEPTIONS` says so. The binding generates its checks from `refusals` (see
`checks`), and the tests generate from it programs that pass every wrong value to every function.
The classes are the standard's; where it names none, MPICH's.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from ..mpi.errors import ErrorClass, MpiError
from .flavor import HANDLES

Prototype = list[
    tuple[str, str, int, bool]
]  # (name, type without const and pointers, pointers, const) of each parameter


class Wrong(enum.StrEnum):
    """A wrong value."""

    NULL = "a null pointer"
    NEGATIVE = "negative"
    NULL_HANDLE = "a null handle"
    NO_HANDLE = "not a handle"
    IGNORED = "MPI_STATUS_IGNORE"  # where the fields of a status are needed
    TOO_LARGE = "too large"


class Refusal(NamedTuple):
    """A wrong value of an argument, and the error class of the answer. `length` is the argument
    that says how many elements a pointer leads to: none are needed if it is 0. `border`: refused by
    the binding, before the library sees it."""

    argument: str
    wrong: Wrong
    error: ErrorClass
    length: str = ""
    border: bool = True


_ARG, _COUNT = ErrorClass.ARG, ErrorClass.COUNT

# Numbers that must not be negative.
_NUMBERS = {
    **dict.fromkeys(("count", "incount", "outcount", "sendcount", "recvcount", "blocklength"), _COUNT),
    **dict.fromkeys(("origin_count", "result_count", "target_count"), _COUNT),
    **dict.fromkeys(("n", "ndims", "nnodes", "maxdims", "maxindex", "maxedges", "maxneighbors", "length"), _ARG),
    **dict.fromkeys(("maxindegree", "maxoutdegree", "indegree", "outdegree", "valuelen", "insize", "outsize"), _ARG),
    **dict.fromkeys(("max_integers", "max_addresses", "max_large_counts", "max_datatypes"), _ARG),
}
# Ranks, roots and tags: the library knows which there are.
_NAMED = {
    **dict.fromkeys(("dest", "source", "rank", "local_leader", "remote_leader"), ErrorClass.RANK),
    "target_rank": ErrorClass.RANK,
    "root": ErrorClass.ROOT,
    **dict.fromkeys(("tag", "sendtag", "recvtag"), ErrorClass.TAG),
}
_HANDLE_ERRORS = {
    "MPI_Comm": ErrorClass.COMM,
    "MPI_Datatype": ErrorClass.TYPE,
    "MPI_Group": ErrorClass.GROUP,
    "MPI_Op": ErrorClass.OP,
    "MPI_Errhandler": ErrorClass.ERRHANDLER,
    "MPI_Request": ErrorClass.REQUEST,
    "MPI_Message": ErrorClass.REQUEST,
    "MPI_Info": ErrorClass.INFO,
    "MPI_Session": ErrorClass.SESSION,
    "MPI_File": ErrorClass.FILE,
    "MPI_Win": ErrorClass.WIN,
}
# Arrays, and what may say how long they are: the first of these that the function has.
_LENGTHS = {
    **dict.fromkeys(("array_of_requests", "array_of_statuses"), ("count", "incount")),
    "array_of_indices": ("incount",),
    **dict.fromkeys(("ranks", "ranks1", "ranks2", "ranges", "degrees"), ("n",)),
    **dict.fromkeys(("dims", "periods", "coords"), ("ndims", "maxdims")),
    "indx": ("nnodes", "maxindex"),
    "edges": ("maxedges",),
    "neighbors": ("maxneighbors",),
    **dict.fromkeys(("sources", "sourceweights"), ("n", "indegree", "maxindegree")),
    **dict.fromkeys(("destinations", "destweights"), ("outdegree", "maxoutdegree")),
    "array_of_partitions": ("length",),
    **dict.fromkeys(("array_of_blocklengths", "array_of_displacements", "array_of_types"), ("count",)),
    **dict.fromkeys(("array_of_sizes", "array_of_subsizes", "array_of_starts"), ("ndims",)),
    **dict.fromkeys(("array_of_gsizes", "array_of_distribs", "array_of_dargs", "array_of_psizes"), ("ndims",)),
    "array_of_integers": ("max_integers",),
    "array_of_addresses": ("max_addresses",),
    "array_of_large_counts": ("max_large_counts",),
    "array_of_datatypes": ("max_datatypes",),
}
# Buffers with data: the library knows which are used. Where the length is the communicator's, it
# finds null arrays itself.
_BUFFERS = frozenset({"buf", "sendbuf", "recvbuf", "buffer", "inbuf", "outbuf", "inoutbuf"})
_ORIGINS = frozenset({"origin_addr", "result_addr", "compare_addr"})  # of one-sided calls
_COLLECTIVE_ARRAYS = frozenset(
    {"sendcounts", "recvcounts", "displs", "sdispls", "rdispls", "sendtypes", "recvtypes", "remain_dims", "weights"}
)
_FUNCTIONS = frozenset(
    {
        "comm_errhandler_fn",
        "session_errhandler_fn",
        "file_errhandler_fn",
        "win_errhandler_fn",
        "dtype_file_extent_fn",
        "user_fn",
        "query_fn",
        "free_fn",
        "cancel_fn",
    }
)  # those of attributes may be null
_OPTIONAL = frozenset({"argc", "argv", "extra_state", "location", "base", "copy_proxy", "delete_proxy"})
_NULL_HANDLES = frozenset({"MPI_Info"})  # types whose null handle is a value as an input

# Functions that take MPI_DATATYPE_NULL for no elements, or with MPI_PROC_NULL.
_MODES = ("Send", "Ssend", "Rsend", "Bsend", "Recv")
NULL_TYPES = frozenset(
    f"MPI_{name}"
    for name in (
        *_MODES,
        *(f"I{mode.lower()}" for mode in _MODES),
        *(f"{mode}_init" for mode in _MODES),
        *("Sendrecv", "Isendrecv", "Sendrecv_replace", "Isendrecv_replace"),
        *("Mrecv", "Imrecv", "Psend_init", "Precv_init"),
        *("Bcast", "Ibcast", "Bcast_init"),
    )
)

_Row = dict[Wrong, ErrorClass | None]
_NONE_REFUSED: _Row = dict.fromkeys(Wrong)
_NULL_ALLOWED: _Row = {Wrong.NULL: None}
_NULL_HANDLE_ALLOWED: _Row = {Wrong.NULL_HANDLE: None}
_NULL_INFO: _Row = {Wrong.NULL_HANDLE: ErrorClass.INFO}

_STARTED = ("commands", "argv", "maxprocs", "info")
_SIZED = ("create", "allocate", "allocate_shared", "attach")
_ASSERTING = ("fence", "start", "post", "lock", "lock_all")
_REACHING = ("Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap")

# What a name means in one function only: None is not an error.
_EXCEPTIONS: dict[tuple[str, str], _Row] = {
    **{
        (name, "attribute_val"): _NULL_ALLOWED
        for name in ("MPI_Attr_put", "MPI_Comm_set_attr", "MPI_Type_set_attr", "MPI_Win_set_attr")
    },
    **{
        (f"MPII_{kind}_{way}_attr", "attribute_val"): _NULL_ALLOWED
        for kind in ("Comm", "Type", "Win")
        for way in ("set", "get")
    },
    **{(f"MPI_Info_{what}", "info"): _NULL_INFO for what in ("delete", "dup", "get", "get_nkeys", "get_nthkey")},
    ("MPI_Comm_set_info", "info"): _NULL_INFO,
    **{(f"MPI_Info_{what}", "info"): _NULL_INFO for what in ("get_string", "get_valuelen", "set", "free")},
    ("MPI_Session_get_nth_pset", "pset_name"): _NULL_ALLOWED,  # with a length of 0
    ("MPI_Info_get_string", "value"): _NULL_ALLOWED,
    ("MPI_Dist_graph_neighbors", "sourceweights"): _NULL_ALLOWED,
    ("MPI_Dist_graph_neighbors", "destweights"): _NULL_ALLOWED,
    **{
        (f"MPI_{name}", "size"): {Wrong.NEGATIVE: _ARG}
        for name in ("Alloc_mem", "Buffer_attach", "Comm_attach_buffer", "Session_attach_buffer")
    },
    **{
        (f"MPI_{name}", "buffer"): {Wrong.NULL: _ARG}
        for name in ("Buffer_attach", "Comm_attach_buffer", "Session_attach_buffer")
    },
    **{(f"MPI_File_{name}", "size"): {Wrong.NEGATIVE: _ARG} for name in ("set_size", "preallocate")},
    **{(f"MPI_File_{name}_errhandler", "file"): _NULL_HANDLE_ALLOWED for name in ("get", "set")},
    ("MPI_File_call_errhandler", "fh"): _NULL_HANDLE_ALLOWED,
    **{
        (f"MPI_File_{verb}_{how}_end", "buf"): _NULL_ALLOWED
        for verb in ("read", "write")
        for how in ("all", "at_all", "ordered")
    },
    ("MPI_Unpack_external", "insize"): {Wrong.NEGATIVE: _COUNT},
    ("MPI_Pack_external", "outsize"): {Wrong.NEGATIVE: _COUNT},
    ("MPI_Type_create_darray", "rank"): _NONE_REFUSED,  # of a grid, not of a communicator
    **{(f"MPI_{name}", "request"): _NULL_HANDLE_ALLOWED for name in ("Request_get_status", "Parrived", "Wait", "Test")},
    ("MPI_Comm_get_name", "comm"): _NULL_HANDLE_ALLOWED,
    # What means something at the root only.
    **{(f"MPI_Comm_{what}", "port_name"): _NULL_ALLOWED for what in ("accept", "connect")},
    ("MPI_Comm_spawn", "command"): _NULL_ALLOWED,
    ("MPI_Comm_spawn_multiple", "count"): _NONE_REFUSED,
    **{("MPI_Comm_spawn_multiple", f"array_of_{what}"): _NULL_ALLOWED for what in _STARTED},
    **{(f"MPI_Comm_{what}", "array_of_errcodes"): _NULL_ALLOWED for what in ("spawn", "spawn_multiple")},
    ("MPI_Comm_spawn", "maxprocs"): {Wrong.NEGATIVE: _ARG},
    ("MPI_Type_get_name", "datatype"): _NULL_HANDLE_ALLOWED,
    ("MPI_Win_get_name", "win"): _NULL_HANDLE_ALLOWED,
    ("MPI_Win_set_info", "info"): _NULL_INFO,
    **{(f"MPI_Win_{what}", "size"): {Wrong.NEGATIVE: ErrorClass.SIZE} for what in _SIZED},
    **{(f"MPI_Win_{what}", "disp_unit"): {Wrong.NEGATIVE: ErrorClass.DISP} for what in _SIZED},
    **{(f"MPI_Win_{what}", "assert_"): {Wrong.NEGATIVE: ErrorClass.ASSERT} for what in _ASSERTING},
    **{(f"MPI_{what}", "target_disp"): {Wrong.NEGATIVE: ErrorClass.DISP} for what in _REACHING},
    ("MPI_Win_lock", "lock_type"): {Wrong.NEGATIVE: ErrorClass.LOCKTYPE},
    ("MPI_Intercomm_create", "peer_comm"): _NONE_REFUSED,  # means something at the leader only
    ("MPI_Intercomm_create", "remote_leader"): _NONE_REFUSED,
    ("MPI_Info_get_nthkey", "n"): {Wrong.NEGATIVE: _ARG},
    **{(f"MPI_Status_set_{what}", what): _NONE_REFUSED for what in ("source", "tag")},
    **{
        (f"MPI_Status_set_{what}", "status"): {Wrong.IGNORED: _ARG}
        for what in ("source", "tag", "error", "cancelled", "elements", "elements_x")
    },
}


def refusals(call: str, parameters: Prototype, library_counts: bool = False) -> list[Refusal]:
    """Return the arguments that `call` refuses, in the order of its parameters.

    `library_counts`: some arguments mean nothing at some processes, so that only the library can check a count.
    """
    if call.startswith("MPI_T_"):  # any output may be null
        return []
    names = {parameter[0] for parameter in parameters}
    found: list[Refusal] = []
    for parameter in parameters:
        exceptions = _EXCEPTIONS.get((call.removesuffix("_c"), parameter[0]), {})
        usual = _usual(parameter, names, library_counts)
        found += [
            r._replace(error=exceptions.get(r.wrong) or r.error) for r in usual if exceptions.get(r.wrong, r.error)
        ]
        for wrong, error in exceptions.items():
            if error is not None and wrong not in [refusal.wrong for refusal in usual]:
                found.append(Refusal(parameter[0], wrong, error, border=False))
    return found


def _usual(parameter: tuple[str, str, int, bool], names: set[str], library_counts: bool) -> list[Refusal]:
    """Return the values that are refused of a parameter of this type and name."""
    name, base, pointers, const = parameter
    if pointers:
        return _pointer(name, base, const, names)
    if base in HANDLES:
        return _handle(name, base)
    if name in _FUNCTIONS:
        return [Refusal(name, Wrong.NULL, _ARG)]
    if name in _NUMBERS:
        return [Refusal(name, Wrong.NEGATIVE, _NUMBERS[name], border=not library_counts)]
    if name in _NAMED:
        wrongs = [Wrong.NEGATIVE] if _NAMED[name] is ErrorClass.TAG else [Wrong.NEGATIVE, Wrong.TOO_LARGE]
        return [Refusal(name, wrong, _NAMED[name], border=False) for wrong in wrongs]
    return []


def _pointer(name: str, base: str, const: bool, names: set[str]) -> list[Refusal]:
    if base == "void" and (name in _BUFFERS or name in _ORIGINS):
        return [Refusal(name, Wrong.NULL, ErrorClass.BUFFER, border=False)]
    if name in _OPTIONAL or "_function" in base:
        return [Refusal(name, Wrong.NULL, _ARG)] if name in _FUNCTIONS else []
    if name in _COLLECTIVE_ARRAYS:
        return [Refusal(name, Wrong.NULL, _ARG, border=False)]
    if name in _LENGTHS:
        length = next((length for length in _LENGTHS[name] if length in names), "")
        if length:
            return [Refusal(name, Wrong.NULL, _ARG, length)]
        if const:  # as many as the library knows
            return [Refusal(name, Wrong.NULL, _ARG, border=False)]
    error = ErrorClass.INFO_KEY if const and name == "key" else _ARG
    null = Refusal(name, Wrong.NULL, error)
    return [null, Refusal(name, Wrong.IGNORED, _ARG, border=False)] if base == "MPI_Status" and const else [null]


def _handle(name: str, base: str) -> list[Refusal]:
    error = _HANDLE_ERRORS.get(base)
    if error is None:
        return []
    wrongs = [Wrong.NO_HANDLE] if base in _NULL_HANDLES else [Wrong.NULL_HANDLE, Wrong.NO_HANDLE]
    return [Refusal(name, wrong, error, border=False) for wrong in wrongs]


# The checks of a call's arguments, as Python text for its binding, from the table in `arguments`.
#
# One condition decides whether anything may be wrong; it costs some ten nanoseconds an argument. Only
# if it holds is each argument looked at.

Examine = Callable[..., None]


def lines(
    call: str, parameters: Prototype, library_counts: bool, null_status: bool, names: dict[str, Any]
) -> list[str]:
    """Text that raises MpiError for a wrong argument. `null_status`: a null status is
    MPI_STATUS_IGNORE in this ABI."""
    outputs = {p[0] for p in parameters if p[1] == "MPI_Status" and not p[3]} if null_status else set()
    found = [r for r in refusals(call, parameters, library_counts) if r.border and r.argument not in outputs]
    if not found:
        return []
    pointers = [refusal.argument for refusal in found if refusal.wrong is Wrong.NULL]
    conditions = [f"{refusal.argument} < 0" for refusal in found if refusal.wrong is Wrong.NEGATIVE]
    if pointers:
        conditions.append(f"not ({' and '.join(pointers)})")
    names["examine"] = _examiner(call, found, [parameter[0] for parameter in parameters])
    passed = ", ".join(parameter[0] for parameter in parameters)
    return [f"if {' or '.join(conditions)}: examine({passed})"]


def _examiner(call: str, found: list[Refusal], names: list[str]) -> Examine:
    def examine(*arguments: Any) -> None:
        values = dict(zip(names, arguments, strict=True))
        for refusal in found:
            value = values[refusal.argument]
            if refusal.wrong is Wrong.NEGATIVE and value < 0:
                raise MpiError(refusal.error, f"{call}: {refusal.argument} is {value}; it must not be negative")
            if refusal.wrong is Wrong.NULL and not value and values.get(refusal.length, 1) > 0:
                raise MpiError(refusal.error, f"{call}: {refusal.argument} is a null pointer")

    return examine
