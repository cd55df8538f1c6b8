"""Reduction operations: the predefined ones over numpy, and the program's own."""

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .buffers import check_address
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .memory import array_at

# Reductions over the basic types that numpy has no type for: 16-byte integers, logicals and reals,
# and their complex kin.
#
# Elements are taken from memory as Python numbers, combined exactly, and rounded once when they are
# put back.

Array = npt.NDArray[Any]
Number = Any  # int, bool, Fraction, or float for what no fraction can be; a pair of the latter for complex numbers
Function = Callable[[Number, Number], Number]

# IEEE 754 binary128.
_FRACTION = 112  # bits after the leading one
_BIAS = 16383
_SPECIAL = 2 * _BIAS + 1  # the biased exponent of infinities and NaN


def real16(data: bytes) -> Fraction | float:
    """The value of a binary128. Infinities and NaN are floats."""
    bits = int.from_bytes(data, "little")
    sign = -1 if bits >> 127 else 1
    exponent, fraction = bits >> _FRACTION & _SPECIAL, bits & (1 << _FRACTION) - 1
    if exponent == _SPECIAL:
        return float("nan") if fraction else sign * float("inf")
    if exponent:
        fraction |= 1 << _FRACTION
    return sign * fraction * Fraction(2) ** (max(exponent, 1) - _BIAS - _FRACTION)


def real16_bytes(value: Fraction | float) -> bytes:
    """The nearest binary128, ties to even."""
    if isinstance(value, float):
        bits = _SPECIAL << _FRACTION | (1 << _FRACTION - 1 if value != value else 0)
        return (bits | (value < 0) << 127).to_bytes(16, "little")
    sign, value = value < 0, abs(value)
    if not value:
        return bytes(16)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    exponent = max(exponent, 1 - _BIAS)
    digits = round(value / Fraction(2) ** (exponent - _FRACTION))
    # A carry out of the digits, or digits without a leading one, are right in this sum of the two
    # fields.
    bits = min(((exponent + _BIAS - 1) << _FRACTION) + digits, _SPECIAL << _FRACTION)
    return (bits | sign << 127).to_bytes(16, "little")


def _combined(function: Function) -> Function:
    """`function` of two reals, where infinities and NaN follow the rules of floats."""

    def combine(a: Number, b: Number) -> Number:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return function(a, b)
        # Beside what is not finite, of a finite number only the sign counts.
        a, b = (float((x > 0) - (x < 0)) if isinstance(x, Fraction) else x for x in (a, b))
        return function(a, b)

    return combine


_add, _multiply = _combined(operator.add), _combined(operator.mul)


def _subtract(a: Number, b: Number) -> Number:
    return _add(a, -b)


def _complex_product(a: Number, b: Number) -> Number:
    (x, y), (u, v) = a, b
    return _subtract(_multiply(x, u), _multiply(y, v)), _add(_multiply(x, v), _multiply(y, u))


class _Codec(NamedTuple):
    """From the bytes of an element to a number and back, and what differs from Python's operations
    on integers."""

    decode: Callable[[bytes], Number]
    encode: Callable[[Number], bytes]
    functions: dict[str, Function]


_WIDE_INTEGERS: dict[str, Function] = {
    "MPI_MAX": max,
    "MPI_MIN": min,
    "MPI_SUM": operator.add,
    "MPI_PROD": operator.mul,
    "MPI_BAND": operator.and_,
    "MPI_BOR": operator.or_,
    "MPI_BXOR": operator.xor,
}
_WIDE_LOGICALS: dict[str, Function] = {
    "MPI_LAND": operator.and_,
    "MPI_LOR": operator.or_,
    "MPI_LXOR": operator.xor,
}
_REALS: dict[str, Function] = {
    "MPI_MAX": _combined(lambda a, b: a + b if a != a or b != b else max(a, b)),
    "MPI_MIN": _combined(lambda a, b: a + b if a != a or b != b else min(a, b)),
    "MPI_SUM": _add,
    "MPI_PROD": _multiply,
}
_COMPLEX: dict[str, Function] = {
    "MPI_SUM": lambda a, b: (_add(a[0], b[0]), _add(a[1], b[1])),
    "MPI_PROD": _complex_product,
}


def _half(data: bytes) -> Fraction | float:
    value = float(np.frombuffer(data, np.float16)[0])
    return Fraction(value) if np.isfinite(value) else value


def _half_bytes(value: Fraction | float) -> bytes:
    with np.errstate(over="ignore"):
        return np.float16(float(value)).tobytes()


def _pair(decode: Callable[[bytes], Number], encode: Callable[[Number], bytes]) -> _Codec:
    """Complex numbers with parts of some real type."""

    def both(data: bytes) -> Number:
        middle = len(data) // 2
        return decode(data[:middle]), decode(data[middle:])

    return _Codec(both, lambda value: encode(value[0]) + encode(value[1]), _COMPLEX)


# By the kind and the size of the basic type.
_CODECS: dict[tuple[str, int], _Codec] = {
    ("fortran integer", 16): _Codec(
        lambda data: int.from_bytes(data, "little", signed=True),
        lambda value: (value % (1 << 128)).to_bytes(16, "little"),
        _WIDE_INTEGERS,
    ),
    ("logical", 16): _Codec(any, lambda value: int(value).to_bytes(16, "little"), _WIDE_LOGICALS),
    ("floating", 16): _Codec(real16, real16_bytes, _REALS),
    ("complex", 4): _pair(_half, _half_bytes),
    ("complex", 32): _pair(real16, real16_bytes),
}


def combine(name: str, kind: str, incoming: Array, inout: Array) -> None:
    """inout = incoming op inout, for the operation called `name` and arrays of bytes."""
    codec = _CODECS[kind, inout.dtype.itemsize]
    function = codec.functions[name]
    size = inout.dtype.itemsize
    left, right = incoming.tobytes(), inout.tobytes()
    made = b"".join(
        codec.encode(function(codec.decode(left[at : at + size]), codec.decode(right[at : at + size])))
        for at in range(0, len(left), size)
    )
    inout[...] = np.frombuffer(made, inout.dtype)


UserFunction = Callable[[int, int, int, Datatype], None]
Combine = Callable[[Array, Array], None]  # (in, inout): inout = in op inout


class Op:
    """MPI_Op. `function(in address, inout address, count, datatype)` leaves in op inout in
    inout."""

    def __init__(self, function: UserFunction, commute: bool, name: str = "", predefined: bool = False) -> None:
        self.function = function
        self.commute = commute
        self.name = name
        self.predefined = predefined

    def __repr__(self) -> str:
        return f"Op({self.name or 'user function'})"

    def check(self, call: str, datatype: Datatype) -> None:
        """The operation is defined on the datatype; programs' operations are on all."""
        if self.predefined:
            _combination(self, call, datatype)


def _ufunc(function: Any) -> Combine:
    def combine(incoming: Array, inout: Array) -> None:
        function(incoming, inout, out=inout, casting="unsafe")

    return combine


def _logical(function: Any) -> Combine:
    def combine(incoming: Array, inout: Array) -> None:
        inout[...] = function(incoming != 0, inout != 0)

    return combine


def _location(better: Any) -> Combine:
    def combine(incoming: Array, inout: Array) -> None:
        value, index = incoming.dtype.names or ("", "")
        wins = better(incoming[value], inout[value])
        ties = (incoming[value] == inout[value]) & (incoming[index] < inout[index])
        chosen = wins | ties
        inout[chosen] = incoming[chosen]

    return combine


def _replace(incoming: Array, inout: Array) -> None:
    inout[...] = incoming


def _nothing(incoming: Array, inout: Array) -> None:
    return


# Kinds of datatypes that each operation takes, as in MPICH: to it Fortran's integers are no
# logicals, and C's are.
_INTEGERS = frozenset({"integer", "fortran integer"})
_NUMBERS = _INTEGERS | {"floating"}
_LOGICALS = frozenset({"integer", "logical"})
_TABLE: dict[str, tuple[Combine, frozenset[str]]] = {
    "MPI_MAX": (_ufunc(np.maximum), _NUMBERS),
    "MPI_MIN": (_ufunc(np.minimum), _NUMBERS),
    "MPI_SUM": (_ufunc(np.add), _NUMBERS | {"complex"}),
    "MPI_PROD": (_ufunc(np.multiply), _NUMBERS | {"complex"}),
    "MPI_LAND": (_logical(np.logical_and), _LOGICALS),
    "MPI_LOR": (_logical(np.logical_or), _LOGICALS),
    "MPI_LXOR": (_logical(np.logical_xor), _LOGICALS),
    "MPI_BAND": (_ufunc(np.bitwise_and), _INTEGERS | {"byte"}),
    "MPI_BOR": (_ufunc(np.bitwise_or), _INTEGERS | {"byte"}),
    "MPI_BXOR": (_ufunc(np.bitwise_xor), _INTEGERS | {"byte"}),
    "MPI_MAXLOC": (_location(np.greater), frozenset({"pair"})),
    "MPI_MINLOC": (_location(np.less), frozenset({"pair"})),
    "MPI_REPLACE": (_replace, frozenset()),
    "MPI_NO_OP": (_nothing, frozenset()),
}


def _combination(op: Op, call: str, datatype: Datatype) -> Combine:
    function, kinds = _TABLE[op.name]
    if datatype.kind not in kinds or datatype.dtype is None:
        raise MpiError(ErrorClass.OP, f"{call}: {op.name} is not defined on the datatype {datatype.name!r}")
    if datatype.dtype.kind == "V" and datatype.dtype.names is None:  # numpy has no such numbers
        return partial(combine, op.name, datatype.kind)
    return function


def _predefined(name: str) -> Op:
    def function(incoming: int, inout: int, count: int, datatype: Datatype) -> None:
        combine = _combination(op, "reduction", datatype)
        with np.errstate(all="ignore"):  # overflow is the program's business, as in C
            combine(array_at(incoming, count, datatype.dtype), array_at(inout, count, datatype.dtype))

    op = Op(function, commute=name != "MPI_REPLACE", name=name, predefined=True)
    return op


PREDEFINED: dict[str, Op] = {name: _predefined(name) for name in _TABLE}


def reduce_local(incoming: int, inout: int, count: int, datatype: Datatype, op: Op) -> None:
    """MPI_Reduce_local."""
    if count < 0:
        raise MpiError(ErrorClass.COUNT, f"MPI_Reduce_local: count is {count}; it must not be negative")
    op.check("MPI_Reduce_local", datatype)
    for name, address in (("inbuf", incoming), ("inoutbuf", inout)):
        check_address("MPI_Reduce_local", name, address, count, datatype)
    if incoming == inout and count and datatype.size:
        raise MpiError(ErrorClass.BUFFER, "MPI_Reduce_local: inbuf and inoutbuf are the same")
    if count:
        op.function(incoming, inout, count, datatype)
