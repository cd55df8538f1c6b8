"""Records of sends and receives, blocking or not, persistent or not."""

from typing import Any

from ...mpi.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from ..context import abi
from .call import Buffer, Call, runs_of
from .recorder import After, Handler, Recorder

HANDLERS: dict[str, Handler] = {}
_BUFFER = ("buf", "count", "datatype")
_SENT = ("sendbuf", "sendcount", "sendtype")
_RECEIVED = ("recvbuf", "recvcount", "recvtype")


def _send_fields(rec: Recorder, call: Call, mode: str, buffer: tuple[str, str, str], tag: str) -> dict[str, Any]:
    comm = call.comm()
    dest = call.number_of("dest")
    to = PROC_NULL if dest == PROC_NULL else comm.route[dest]
    signature = runs_of(call.datatype(buffer[2]), call.raw(buffer[1]))
    return {"mode": mode, "comm": rec.names.of(comm), "to": to, "tag": call.number_of(tag), "sig": signature}


def _receive_fields(rec: Recorder, call: Call, buffer: tuple[str, str, str], tag: str) -> dict[str, Any]:
    comm = call.comm()
    source = call.number_of("source")
    wanted = source if source in (PROC_NULL, ANY_SOURCE) else comm.route[source]
    signature = runs_of(call.datatype(buffer[2]), call.raw(buffer[1]))
    return {"comm": rec.names.of(comm), "want": wanted, "tag": _tag(call.number_of(tag)), "sig": signature}


def _tag(tag: int) -> int:
    return -1 if tag == ANY_TAG else tag


def _sends(mode: str, how: str) -> Handler:
    """`how`: "", "i" or "init"."""

    def handle(rec: Recorder, call: Call) -> After | None:
        buffers = [Buffer(call.regions(*_BUFFER), False, "buf")]
        fields = _send_fields(rec, call, mode, _BUFFER, "tag")
        if how == "init":
            return rec.made(call, [("send", fields)], buffers, started=False)
        rec.use(call, buffers, pending=bool(how))
        if how:
            return rec.made(call, [("send", fields)], buffers)
        rec.operation("send", call, fields)
        return None

    return handle


def _receives(how: str) -> Handler:
    def handle(rec: Recorder, call: Call) -> After | None:
        buffers = [Buffer(call.regions(*_BUFFER), True, "buf")]
        fields = _receive_fields(rec, call, _BUFFER, "tag")
        if how == "init":
            return rec.made(call, [("recv", fields)], buffers, started=False)
        rec.use(call, buffers, pending=bool(how))
        if how:
            return rec.made(call, [("recv", fields)], buffers)
        return _taken(rec, call, fields["want"], rec.operation("recv", call, fields))

    return handle


def _taken(rec: Recorder, call: Call, wanted: int, number: int) -> After:
    """Record which message a blocking receive has got."""
    comm, pointer = call.comm(), _status(call)

    def after(code: int) -> None:
        if code:
            rec.note("unsure", call, comm=rec.names.of(comm))
        elif wanted != PROC_NULL:
            status = abi.get_status(pointer)
            source = comm.route[status.source]
            rec.note("match", call, id=number, **{"from": source, "tag": status.tag, "bytes": status.count})

    return after


def _exchange(rec: Recorder, call: Call) -> After | None:
    """MPI_Sendrecv."""
    buffers = [Buffer(call.regions(*_SENT), False, "sendbuf"), Buffer(call.regions(*_RECEIVED), True, "recvbuf")]
    rec.use(call, buffers)
    rec.operation("send", call, _send_fields(rec, call, "x", _SENT, "sendtag"))
    fields = _receive_fields(rec, call, _RECEIVED, "recvtag")
    return _taken(rec, call, fields["want"], rec.operation("recv", call, fields))


def _replace(rec: Recorder, call: Call) -> After | None:
    """MPI_Sendrecv_replace."""
    rec.use(call, [Buffer(call.regions(*_BUFFER), True, "buf")])
    rec.operation("send", call, _send_fields(rec, call, "x", _BUFFER, "sendtag"))
    fields = _receive_fields(rec, call, _BUFFER, "recvtag")
    return _taken(rec, call, fields["want"], rec.operation("recv", call, fields))


def _unsure(rec: Recorder, call: Call) -> After | None:
    """A call whose matches are not followed: those on its communicator are not judged from here on."""
    rec.note("unsure", call, comm=rec.names.of(call.comm()))
    return None


def _asked(rec: Recorder, call: Call) -> dict[str, Any]:
    """Return which message a probe asks for."""
    comm, source = call.comm(), call.number_of("source")
    wanted = source if source in (PROC_NULL, ANY_SOURCE) else comm.route[source]
    return {"comm": rec.names.of(comm), "want": wanted, "tag": _tag(call.number_of("tag"))}


def _status(call: Call) -> Any:
    """Return where the call will store a status, also if the program ignores it."""
    at = call.index["status"]
    if call.arguments[at] == abi.status_ignore:
        call.arguments[at] = abi.ffi.new("lanai_status *")
    return call.arguments[at]


def _probe(rec: Recorder, call: Call) -> After:
    """MPI_Probe: which message it has chosen."""
    comm, pointer, asked = call.comm(), _status(call), _asked(rec, call)

    def after(code: int) -> None:
        if not code and asked["want"] != PROC_NULL:
            status = abi.get_status(pointer)
            rec.note("probe", call, **asked, **{"from": comm.route[status.source], "got": status.tag})

    return after


def _matched_probe(rec: Recorder, call: Call) -> After | None:
    """MPI_Mprobe and MPI_Improbe take a message."""
    comm, pointer, asked = call.comm(), _status(call), _asked(rec, call)
    message = call.raw("message")
    flag = call.raw("flag") if call.has("flag") else None

    def after(code: int) -> None:
        if code or (flag is not None and not flag[0]) or message[0] in (abi.messages.null, _no_proc()):
            return
        status = abi.get_status(pointer)
        number = rec.operation("recv", call, asked)
        source = comm.route[status.source]
        rec.note("match", call, id=number, **{"from": source, "tag": status.tag, "bytes": status.count})
        rec.messages[message[0]] = number

    return after


def _no_proc() -> int:
    return abi.constants["MPI_MESSAGE_NO_PROC"]


def _matched_receive(rec: Recorder, call: Call) -> After | None:
    """MPI_Mrecv and MPI_Imrecv: the signature of a receive that a probe has recorded."""
    taken = rec.messages.pop(call.raw("message")[0], None)
    buffers = [Buffer(call.regions(*_BUFFER), True, "buf")]
    begins = call.name == "MPI_Imrecv"
    rec.use(call, buffers, pending=begins)
    if taken is not None:
        rec.note("typed", call, of=taken, sig=runs_of(call.datatype("datatype"), call.raw("count")))
    return rec.made(call, [], buffers) if begins else None


def _start(rec: Recorder, call: Call) -> After | None:
    count = call.raw("count") if call.has("count") else 1
    pointer = call.raw("array_of_requests" if call.has("array_of_requests") else "request")
    for handle in abi.ints(pointer, count) if count > 1 else [pointer[0]] if count else []:
        made = rec.requests.get(handle)
        if made is not None and made.active < 0:
            rec.use(call, made.buffers, pending=True, made=made.place)
            rec.starting(call, made)

    def after(code: int) -> None:
        if not code:
            for made in rec.started:
                rec.requests.start(made, call.number)
        rec.started.clear()

    return after


for _mode, _stem in (("s", "send"), ("b", "bsend"), ("y", "ssend"), ("r", "rsend")):
    HANDLERS[f"MPI_{_stem.capitalize()}"] = _sends(_mode, "")
    HANDLERS[f"MPI_I{_stem}"] = _sends(_mode, "i")
    HANDLERS[f"MPI_{_stem.capitalize()}_init"] = _sends(_mode, "init")
HANDLERS |= {
    "MPI_Recv": _receives(""),
    "MPI_Irecv": _receives("i"),
    "MPI_Recv_init": _receives("init"),
    "MPI_Sendrecv": _exchange,
    "MPI_Sendrecv_replace": _replace,
    "MPI_Isendrecv": _unsure,
    "MPI_Isendrecv_replace": _unsure,
    "MPI_Probe": _probe,
    "MPI_Mprobe": _matched_probe,
    "MPI_Improbe": _matched_probe,
    "MPI_Mrecv": _matched_receive,
    "MPI_Imrecv": _matched_receive,
    "MPI_Start": _start,
    "MPI_Startall": _start,
}
