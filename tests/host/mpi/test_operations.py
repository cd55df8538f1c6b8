"""The datatypes of each reduction, as MPICH 5.0 has them, and what reductions make of the types that
numpy has not."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest

from lanai_host.mpi import ErrorClass, MpiError
from lanai_host.mpi import op as operations
from lanai_host.mpi.communicator import MOST, SeenTypes
from lanai_host.mpi.datatypes import BYTE, PREDEFINED
from lanai_host.mpi.datatypes.signature import Signature
from lanai_host.mpi.op import real16, real16_bytes

# Seen by calling MPI_Reduce_local, MPI_Allreduce and MPI_Scan of MPICH 5.0.2 with each pair. (With
# MPIX_BFLOAT16 that library ends in an assertion of its own.)
ORDER, SUMS = ["MPI_MAX", "MPI_MIN"], ["MPI_SUM", "MPI_PROD"]
LOGICAL, BITWISE = ["MPI_LAND", "MPI_LOR", "MPI_LXOR"], ["MPI_BAND", "MPI_BOR", "MPI_BXOR"]
TAKEN = [
    (
        (
            "CHAR SIGNED_CHAR INT8_T UNSIGNED_CHAR UINT8_T INT16_T UINT16_T INT32_T UINT32_T INT64_T AINT "
            "OFFSET COUNT UINT64_T "
            "SHORT UNSIGNED_SHORT INT UNSIGNED LONG UNSIGNED_LONG LONG_LONG_INT UNSIGNED_LONG_LONG"
        ),
        [*ORDER, *SUMS, *LOGICAL, *BITWISE],
    ),
    ("INTEGER1 INTEGER2 INTEGER INTEGER4 INTEGER8 INTEGER16", [*ORDER, *SUMS, *BITWISE]),
    (
        "REAL2 X_C_FLOAT16 FLOAT REAL REAL4 DOUBLE DOUBLE_PRECISION REAL8 LONG_DOUBLE REAL16",
        [*ORDER, *SUMS],
    ),
    (
        (
            "COMPLEX4 COMPLEX COMPLEX8 C_FLOAT_COMPLEX CXX_FLOAT_COMPLEX DOUBLE_COMPLEX COMPLEX16 C_DOUBLE_COMPLEX "
            "CXX_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX COMPLEX32"
        ),
        SUMS,
    ),
    ("C_BOOL CXX_BOOL LOGICAL1 LOGICAL2 LOGICAL LOGICAL4 LOGICAL8 LOGICAL16", LOGICAL),
    ("BYTE", BITWISE),
    (
        "FLOAT_INT DOUBLE_INT LONG_INT SHORT_INT 2INT LONG_DOUBLE_INT 2INTEGER 2REAL 2DOUBLE_PRECISION",
        ["MPI_MAXLOC", "MPI_MINLOC"],
    ),
    ("CHARACTER PACKED WCHAR LB UB X_BFLOAT16", []),
]
ALLOWED = {f"MPI{name}" if name[:2] == "X_" else f"MPI_{name}": ops for names, ops in TAKEN for name in names.split()}


@pytest.mark.parametrize("name", PREDEFINED)
def test_operations_take_the_datatypes_that_mpich_takes(name):
    datatype = PREDEFINED[name]
    left, right = (ctypes.create_string_buffer(bytes([1] * 64)) for _ in range(2))
    for op in operations.PREDEFINED.values():
        if op.name in ALLOWED[name]:
            operations.reduce_local(ctypes.addressof(left), ctypes.addressof(right), 1, datatype, op)
            continue
        with pytest.raises(MpiError, match=f"{op.name} is not defined on the datatype '{datatype.name}'") as caught:
            operations.reduce_local(ctypes.addressof(left), ctypes.addressof(right), 1, datatype, op)
        assert caught.value.error_class == ErrorClass.OP


def reduced(op, name, left, right):
    inout = ctypes.create_string_buffer(right, len(right))
    incoming = ctypes.create_string_buffer(left, len(left))
    count = len(left) // PREDEFINED[name].size
    operations.reduce_local(
        ctypes.addressof(incoming), ctypes.addressof(inout), count, PREDEFINED[name], operations.PREDEFINED[op]
    )
    return inout.raw


def test_characters_are_small_integers():
    assert reduced("MPI_SUM", "MPI_CHAR", b"\x01\x7f", b"\x02\x01") == b"\x03\x80"
    assert reduced("MPI_MAX", "MPI_CHAR", b"\xff", b"\x01") == b"\x01"  # char is signed here
    assert reduced("MPI_LAND", "MPI_CHAR", b"\x07\x00", b"\x10\x10") == b"\x01\x00"


@pytest.mark.parametrize(
    ("op", "value"), [("SUM", -2), ("PROD", 1 << 126), ("MAX", 5), ("MIN", -(1 << 127)), ("BXOR", -(1 << 127) ^ 5)]
)
def test_wide_integers(op, value):
    a, b = (-(1 << 127), 5) if op not in ("SUM", "PROD") else ((1 << 127) - 1, (1 << 127) - 1)
    if op == "PROD":
        a, b = 1 << 63, (1 << 63) + (1 << 65)
        value = a * b % (1 << 128)
        value -= (value >> 127) << 128
    left, right = (number.to_bytes(16, "little", signed=True) for number in (a, b))
    made = reduced(f"MPI_{op}", "MPI_INTEGER16", left, right)
    assert int.from_bytes(made, "little", signed=True) == value


def test_wide_logicals():
    true, false, odd = b"\1" + bytes(15), bytes(16), bytes(15) + b"\x80"
    assert reduced("MPI_LAND", "MPI_LOGICAL16", true + odd, odd + false) == true + false
    assert reduced("MPI_LXOR", "MPI_LOGICAL16", true + odd, odd + false) == false + true


@pytest.mark.parametrize("value", [0.0, 1.0, -1.5, 3.14159, 2.0**-1074, -(2.0**1023), float("inf"), float("-inf")])
def test_real16_holds_doubles(value):
    exact = Fraction(value) if np.isfinite(value) else value
    assert real16(real16_bytes(exact)) == exact
    encoded = np.longdouble(value).tobytes()  # 15 bits of exponent there too
    assert real16_bytes(exact)[14:] == encoded[8:10]


def test_real16_rounds_once():
    one, tiny = Fraction(1), Fraction(1, 1 << 113)
    ulp = Fraction(1, 1 << 112)

    def total(a, b):
        return real16(reduced("MPI_SUM", "MPI_REAL16", real16_bytes(a), real16_bytes(b)))

    assert total(one, tiny) == one  # a tie goes to even
    assert total(one + ulp, tiny) == one + 2 * ulp
    assert total(one, tiny + tiny / 2) == one + ulp
    least = Fraction(1, 1 << 16494)
    assert real16(real16_bytes(least)) == least
    assert real16(real16_bytes(least / 2)) == 0
    most = (2 - ulp) * Fraction(2) ** 16383
    assert real16(real16_bytes(most)) == most
    assert total(most, most) == float("inf")
    assert total(float("inf"), -most) == float("inf")
    assert np.isnan(total(float("inf"), float("-inf")))
    third = reduced("MPI_PROD", "MPI_REAL16", real16_bytes(Fraction(1, 3)), real16_bytes(Fraction(3)))
    assert real16(third) == 1


def test_complex_kinds_without_numpy():
    halves = np.array([1.5, -2.0, 3.0, 0.5], np.float16)
    made = np.frombuffer(reduced("MPI_PROD", "MPI_COMPLEX4", halves[:2].tobytes(), halves[2:].tobytes()), np.float16)
    assert complex(*made) == (1.5 - 2j) * (3 + 0.5j)
    left, right = (b"".join(real16_bytes(Fraction(part)) for part in parts) for parts in ((1.5, -2), (3, 0.5)))
    made = reduced("MPI_PROD", "MPI_COMPLEX32", left, right)
    assert complex(real16(made[:16]), real16(made[16:])) == (1.5 - 2j) * (3 + 0.5j)


# The types of its messages that a process remembers.


INT, LONG, INT64 = (PREDEFINED[name].signature for name in ("MPI_INT", "MPI_LONG", "MPI_INT64_T"))


def test_equal_messages_are_one():
    seen = SeenTypes()
    for _ in range(3):
        seen.add(True, 0, 1, 5, INT)
    seen.add(False, 0, 1, 5, INT)
    assert sorted(seen.all()) == [(False, 0, 1, 5, "i4"), (True, 0, 1, 5, "i4")]


def test_names_are_those_that_equal_types_share():
    seen = SeenTypes()
    for tag, signature in enumerate((LONG, INT64, BYTE.signature, Signature(((INT, 1), (LONG, 2))))):
        seen.add(True, 0, 1, tag, signature)
    assert [one[4] for one in sorted(seen.all(), key=lambda one: one[3])] == ["i8", "i8", "BYTE", None]


def test_no_more_are_kept_than_there_is_room_for():
    seen = SeenTypes()
    for tag in range(MOST - 1):
        seen.add(True, 0, 1, tag, INT)
    assert seen.complete
    for tag in range(2 * MOST):
        seen.add(True, 0, 1, tag, INT)
    assert not seen.complete
    assert len(list(seen.all())) == MOST
