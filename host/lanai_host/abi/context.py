"""The state that all bindings share: handle tables, the world, the C side."""

import enum
from typing import Any

from ..mpi import ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, Group, Status
from ..mpi.added_codes import c_text, decode
from ..mpi.datatypes import NO_DATATYPE, PREDEFINED, Datatype
from ..mpi.datatypes.layout import EMPTY
from ..mpi.datatypes.signature import Signature
from ..mpi.op import PREDEFINED as OPERATIONS
from ..mpi.op import Op
from ..mpi.probing import Message, NoProcMessage
from ..mpi.world import World
from . import tables
from .flavor import Flavor
from .numbers import Numbers

LOW = (1 << 32) - 1
SIGN = 1 << 31


# Stands for a datatype where a call may not look at the argument. It is not committed, so that using
# it is an error.
INSIGNIFICANT = Datatype(lambda: (EMPTY, Signature(())), 0, 0, 0, name="MPI_DATATYPE_NULL")


class NoOp(Op):
    """Stands for a handle that is none, where a call may not look at the argument."""

    def __init__(self, wrong: tables.BadHandle) -> None:
        super().__init__(lambda *_: None, commute=True)
        self.wrong = wrong

    def check(self, call: str, datatype: Datatype) -> None:
        raise self.wrong.named(call)


def _signed(value: int) -> int:
    return value - (1 << 32) if value & SIGN else value


class Phase(enum.Enum):
    """A stage of a process between its start and its end."""

    BEFORE = "before MPI_Init"
    RUNNING = "between MPI_Init and MPI_Finalize"
    BETWEEN_SESSIONS = "after the last MPI_Session_finalize"
    AFTER = "after MPI_Finalize"


class NullFile:
    """Stands for MPI_FILE_NULL, whose error handler is that of files to be opened, and of what goes
    wrong without a file."""

    name = ""

    def __init__(self) -> None:
        self.errhandler = ERRORS_RETURN


class Context:
    """One process's binding. `abi` below is the only one; `attach` fills it before any other module
    of the binding is used.

    Attributes:
        phase: MPI_Init and MPI_Finalize, or the first and the last session, move it on. Without
            MPI_Init, MPI ends with the process: until then another session may begin.
        initialized, finalized: MPI_Init, MPI_Finalize was called.
        had_sessions: MPI_Session_init was called.
        world: from MPI_Init on.
        constants: the header's, by name.
        numbers: the maps of an ABI whose numbers are not the library's own; None for MPICH's.
        keyvals: `Keyval` objects; extra handles of predefined attributes are in
            `functions.attributes`.
    """

    def __init__(self) -> None:
        self.phase = Phase.BEFORE
        self.initialized = self.finalized = self.had_sessions = False

    def attach(
        self, ffi: Any, lib: Any, flavor: Flavor, constants: dict[str, int], unweighted: int, weights_empty: int
    ) -> None:
        """Make the tables, and bind the predefined objects that exist before MPI_Init."""
        self.unweighted, self.weights_empty = unweighted, weights_empty
        self.ffi, self.lib, self.flavor, self.constants = ffi, lib, flavor, constants
        self.numbers = Numbers(constants) if flavor.wide else None
        self.comms = self._table("Comm")
        self.types = self._table("Datatype")
        self.groups = self._table("Group")
        self.ops = self._table("Op")
        self.errhandlers = self._table("Errhandler")
        self.requests = self._table("Request")
        self.messages = self._table("Message")
        self.infos = self._table("Info")
        self.keyvals = tables.make("Keyval", constants["MPI_KEYVAL_INVALID"], flavor.wide)
        self.wins = self._table("Win")
        self.files = self._table("File")
        self.sessions = self._table("Session")
        self.no_file = NullFile()
        for table in (self.requests, self.infos):  # None stands for the null handle in argument lists
            table.predefine(table.null, None)
        for name, datatype in PREDEFINED.items():
            if name in constants:
                self.types.predefine(constants[name], datatype)
        for name, op in OPERATIONS.items():
            self.ops.predefine(constants[name], op)
        for name, handler in (
            ("MPI_ERRORS_ARE_FATAL", ERRORS_ARE_FATAL),
            ("MPI_ERRORS_RETURN", ERRORS_RETURN),
            ("MPI_ERRORS_ABORT", ERRORS_ABORT),
        ):
            self.errhandlers.predefine(constants[name], handler)
        self.status_ignore = ffi.cast("lanai_status *", constants["MPI_STATUS_IGNORE"])
        self.statuses_ignore = ffi.cast("lanai_status *", constants["MPI_STATUSES_IGNORE"])

    def _table(self, kind: str) -> tables.HandleTable:
        return tables.make(kind, self.constants[f"MPI_{kind.upper()}_NULL"], self.flavor.wide)

    def open(self, world: World) -> None:
        """MPI_Init: the objects of this run."""
        self.world = world
        constants = self.constants
        self.comms.predefine(constants["MPI_COMM_WORLD"], world.comm_world)
        self.comms.predefine(constants["MPI_COMM_SELF"], world.comm_self)
        self.groups.predefine(constants["MPI_GROUP_EMPTY"], Group((), world.rank))
        self.infos.predefine(constants["MPI_INFO_ENV"], world.info_env)
        self.messages.predefine(constants["MPI_MESSAGE_NO_PROC"], world.message_no_proc)
        self.phase = Phase.RUNNING

    def table_of(self, base: str) -> tables.HandleTable | None:
        """The table for a C type such as MPI_Comm."""
        return {
            "MPI_Comm": self.comms,
            "MPI_Datatype": self.types,
            "MPI_Group": self.groups,
            "MPI_Op": self.ops,
            "MPI_Errhandler": self.errhandlers,
            "MPI_Request": self.requests,
            "MPI_Message": self.messages,
            "MPI_Info": self.infos,
            "MPI_Win": self.wins,
            "MPI_File": self.files,
            "MPI_Session": self.sessions,
        }.get(base)

    def put_group(self, group: Group) -> int:
        """A handle; empty groups are all MPI_GROUP_EMPTY."""
        return self.groups.new(group) if group.size else self.constants["MPI_GROUP_EMPTY"]

    def put_type(self, datatype: Datatype | None) -> int:
        """A handle; types that are predefined by their arguments (Fortran kinds) keep the one they
        had first."""
        if datatype is not None and datatype.predefined and not self.types.is_predefined(datatype):
            self.types.predefine(self.types.new(datatype), datatype)
        return self.types.put(datatype)

    def put_message(self, message: Message | None) -> int:
        """A handle; that of every message from MPI_PROC_NULL is MPI_MESSAGE_NO_PROC."""
        if isinstance(message, NoProcMessage):
            return self.constants["MPI_MESSAGE_NO_PROC"]
        return self.messages.put(message)

    def any_type(self, handle: int) -> Datatype:
        """A datatype that may be insignificant: what is not a handle becomes one that no buffer may
        have."""
        found: Datatype = self.types.get(handle, INSIGNIFICANT)
        return found

    def any_type_or_null(self, handle: int) -> Datatype:
        """The same where MPI_DATATYPE_NULL will do for no elements."""
        return NO_DATATYPE if handle == self.types.null else self.any_type(handle)

    def any_file(self, handle: int) -> Any:
        """A file; what holds the error handler of MPI_FILE_NULL for that handle."""
        return self.no_file if handle == self.files.null else self.files[handle]

    def any_op(self, handle: int) -> Op:
        """An operation that may be insignificant: what is not a handle becomes one that is refused
        where it is looked at."""
        try:
            found: Op = self.ops[handle]
        except tables.BadHandle as wrong:
            return NoOp(wrong)
        return found

    # Status

    def put_status(self, pointer: Any, status: Status | None) -> None:
        """Write a status; None leaves it."""
        if status is None or pointer == self.status_ignore:
            return
        count = status.count
        low = _signed(count & LOW)
        high = _signed(count >> 32 << 1 | status.cancelled)
        if self.numbers:
            pointer.MPI_SOURCE = self.numbers.ranks.outward(status.source)
            pointer.MPI_TAG = self.numbers.tags.outward(status.tag)
            pointer.MPI_internal[0], pointer.MPI_internal[1] = low, high
        else:
            pointer[0] = (low, high, status.source, status.tag)
        if status.sets_error:
            pointer.MPI_ERROR = 0

    def get_status(self, pointer: Any) -> Status:
        """Read a status that the program holds."""
        if pointer == self.status_ignore:
            raise tables.IgnoredStatus("status")
        source, tag = pointer.MPI_SOURCE, pointer.MPI_TAG
        if self.numbers:
            low, high = pointer.MPI_internal[0], pointer.MPI_internal[1]
            source, tag = self.numbers.ranks.inward(source), self.numbers.tags.inward(tag)
        else:
            low, high = pointer.count_lo, pointer.count_hi_and_cancelled
        return Status(source, tag, (high & LOW) >> 1 << 32 | low & LOW, bool(high & 1))

    def inward(self, prefix: str, choices: type[enum.IntEnum], value: int) -> int:
        """A choice as the library numbers it; what is none of them stays as it is and is refused
        later."""
        for choice in choices:
            if self.constants[f"MPI_{prefix}_{choice.name}"] == value:
                return choice
        return value

    def code_out(self, code: int) -> int:
        """An error code as this ABI writes it."""
        return self.numbers.codes.outward(code) if self.numbers else int(code)

    def code_in(self, code: int) -> int:
        """An error code that the program gave, as the library knows it."""
        return self.numbers.codes.inward(code) if self.numbers else code

    # Memory

    def text(self, pointer: Any) -> str:
        """A C string."""
        return decode(self.ffi.string(pointer))

    def ints(self, pointer: Any, count: int, name: str = "an array") -> list[int]:
        """An array of integers, which may be a null pointer only if it is empty. `name` is the
        argument."""
        if count <= 0:
            return []
        if not pointer:
            raise tables.NullPointer(name)
        found: list[int] = self.ffi.unpack(pointer, count)
        return found

    def address(self, pointer: Any) -> int:
        return int(self.ffi.cast("intptr_t", pointer))

    def put_text(self, pointer: Any, text: str, size: int) -> int:
        """Write a C string with its end into a buffer of `size` bytes, cut if need be; its length.
        Nothing else writes strings."""
        if not pointer:
            raise tables.NullPointer("the buffer of a string")
        data = c_text(text, size)
        self.ffi.memmove(pointer, data, len(data))
        return len(data) - 1

    def put_ints(self, pointer: Any, values: Any) -> None:
        """Write an array."""
        for index, value in enumerate(values):
            pointer[index] = value


abi = Context()
