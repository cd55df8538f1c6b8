"""C text of a right value and of wrong ones for each parameter of a function of mpi.h."""

from lanai_host.abi.arguments import Refusal, Wrong
from lanai_host.abi.flavor import HANDLES

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
    ("Comm_spawn_multiple", "array_of_info"): "(MPI_Info[]){MPI_INFO_NULL}",
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
