"""The numbers of MPI as an ABI writes them, where they are not the library's own: ranks, tags,
choices, error codes.

Inside, the library uses MPICH's numbers (`mpi.constants`, `mpi.errors`), so that the MPICH ABI
needs nothing of this. For another ABI the binding passes arguments and results through the maps
made here, by the names that the standard gives to the parameters. Values come from the ABI's
header.
"""

import enum
from collections.abc import Iterable, Mapping

from ..mpi.added_codes import LAST_PREDEFINED
from ..mpi.constants import (
    ANY_SOURCE,
    ANY_TAG,
    IN_PLACE,
    PROC_NULL,
    ROOT,
    Assertion,
    Comparison,
    LockType,
    SplitType,
    ThreadLevel,
)
from ..mpi.datatypes import TypeClass
from ..mpi.errors import ErrorClass
from ..mpi.files.disk import DISPLACEMENT_CURRENT, Mode, Whence

_CLASS = 0xFF  # a code's class is in its low bits (`mpi.errors.ErrorTable`)
_NOTHING = -(1 << 31)  # means nothing as any kind of number


class Stray(int):
    """A number that means something inside but nothing in the ABI: refused like any bad value, and
    printed as it came."""

    passed: int

    def __new__(cls, passed: int) -> "Stray":
        stray = super().__new__(cls, _NOTHING)
        stray.passed = passed
        return stray

    def __format__(self, form: str) -> str:
        return format(self.passed, form)


class Map:
    """One kind of number, both ways. What means nothing special on either side stays as it is (a
    plain rank, say)."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        """`pairs` are (inside, outside)."""
        self._outward = dict(pairs)
        self._inward: dict[int, int] = {value: Stray(value) for value in self._outward}
        self._inward.update((outside, inside) for inside, outside in self._outward.items())

    def inward(self, value: int) -> int:
        return self._inward.get(value, value)

    def outward(self, value: int) -> int:
        return self._outward.get(value, value)


class BitMap:
    """A set of bits, each of which has another place. Bits that mean nothing outside make the whole
    a `Stray`."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        """`pairs` are (inside, outside)."""
        self._pairs = tuple(pairs)
        self._known = sum(outside for _, outside in self._pairs)

    def inward(self, value: int) -> int:
        if value & ~self._known:
            return Stray(value)
        return sum(inside for inside, outside in self._pairs if value & outside)

    def outward(self, value: int) -> int:
        return sum(outside for inside, outside in self._pairs if value & inside)


class CodeMap:
    """Error codes: the class in the low bits is mapped. Codes that the program added are the same
    on both sides."""

    def __init__(self, constants: Mapping[str, int]) -> None:
        self._outward = {int(c): constants[_class_name(c)] for c in ErrorClass}
        self._inward = dict.fromkeys(self._outward, int(ErrorClass.UNKNOWN))
        self._inward.update((outside, inside) for inside, outside in self._outward.items())

    def inward(self, code: int) -> int:
        return _with_class(code, self._inward)

    def outward(self, code: int) -> int:
        return _with_class(code, self._outward)


def _with_class(code: int, classes: Mapping[int, int]) -> int:
    if not 0 <= code <= LAST_PREDEFINED:
        return code
    low = code & _CLASS
    return code - low + classes.get(low, low)


def _class_name(error_class: ErrorClass) -> str:
    return "MPI_SUCCESS" if error_class is ErrorClass.SUCCESS else f"MPI_ERR_{error_class.name}"


class Numbers:
    """The maps of one ABI. `of(call, name)` is the map for a parameter of that name, None if it is
    a plain number."""

    def __init__(self, constants: Mapping[str, int]) -> None:
        ranks = {"ANY_SOURCE": ANY_SOURCE, "PROC_NULL": PROC_NULL, "ROOT": ROOT}
        self.ranks = Map((inside, constants[f"MPI_{name}"]) for name, inside in ranks.items())
        self.tags = Map([(ANY_TAG, constants["MPI_ANY_TAG"])])
        self.codes = CodeMap(constants)
        levels = _choices(constants, "THREAD_", ThreadLevel)
        displacements = Map([(DISPLACEMENT_CURRENT, constants["MPI_DISPLACEMENT_CURRENT"])])
        self._by_call: dict[tuple[str, str], Map | CodeMap | BitMap] = {("MPI_File_set_view", "disp"): displacements}
        self._by_name: dict[str, Map | CodeMap | BitMap] = {
            **dict.fromkeys(("dest", "source", "rank", "root", "rank_source", "rank_dest", "target_rank"), self.ranks),
            **dict.fromkeys(("tag", "sendtag", "recvtag"), self.tags),
            **dict.fromkeys(("required", "provided"), levels),
            **dict.fromkeys(("errorcode", "errorclass"), self.codes),
            **dict.fromkeys(("sendbuf", "recvbuf"), Map([(IN_PLACE, constants["MPI_IN_PLACE"])])),
            "assert_": BitMap((one, constants[f"MPI_MODE_{one.name}"]) for one in Assertion),
            "amode": BitMap((one, constants[f"MPI_MODE_{one.name}"]) for one in Mode),
            "whence": _choices(constants, "SEEK_", Whence),
            "result": _choices(constants, "", Comparison),
            "lock_type": _choices(constants, "LOCK_", LockType),
            "split_type": _choices(constants, "COMM_TYPE_", SplitType),
            "typeclass": _choices(constants, "TYPECLASS_", TypeClass),
        }

    def of(self, call: str, parameter: str) -> Map | CodeMap | BitMap | None:
        # The exit code of MPI_Abort is the program's own.
        return None if call == "MPI_Abort" else self._by_call.get((call, parameter)) or self._by_name.get(parameter)


def _choices(constants: Mapping[str, int], prefix: str, choices: type[enum.IntEnum]) -> Map:
    return Map((choice, constants[f"MPI_{prefix}{choice.name}"]) for choice in choices)
