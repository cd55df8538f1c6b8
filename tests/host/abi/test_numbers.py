"""The numbers of another ABI, read from its header."""

import pytest
from mpi_headers import read

from lanai_host.abi.numbers import Numbers, Stray
from lanai_host.mpi.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, ThreadLevel
from lanai_host.mpi.errors import ErrorClass


@pytest.fixture(scope="module")
def constants():
    return read("mpi_abi.h").constants


@pytest.fixture(scope="module")
def numbers(constants):
    return Numbers(constants)


def test_ranks_and_tags(numbers, constants):
    source = numbers.of("MPI_Recv", "source")
    assert source.inward(constants["MPI_ANY_SOURCE"]) == ANY_SOURCE
    assert source.outward(PROC_NULL) == constants["MPI_PROC_NULL"]
    assert source.inward(5) == source.outward(5) == 5
    assert numbers.of("MPI_Recv", "tag").inward(constants["MPI_ANY_TAG"]) == ANY_TAG
    assert numbers.of("MPI_Recv", "count") is None


def test_what_means_something_inside_only_stays_wrong(numbers):
    """-2 is MPI_ANY_SOURCE inside and nothing in the standard ABI."""
    stray = numbers.of("MPI_Recv", "source").inward(-2)
    assert isinstance(stray, Stray)
    assert stray not in (ANY_SOURCE, PROC_NULL)
    assert f"source is {stray}" == "source is -2"


def test_levels(numbers, constants):
    level = numbers.of("MPI_Init_thread", "required")
    for name in ThreadLevel:
        assert level.outward(level.inward(constants[f"MPI_THREAD_{name.name}"])) == constants[f"MPI_THREAD_{name.name}"]


def test_every_error_class_is_there_and_comes_back(numbers, constants):
    for error_class in ErrorClass:
        name = "MPI_SUCCESS" if error_class is ErrorClass.SUCCESS else f"MPI_ERR_{error_class.name}"
        code = numbers.codes.outward(7 << 8 | error_class)
        assert code == 7 << 8 | constants[name]
        assert numbers.codes.inward(code) == 7 << 8 | error_class


def test_codes_of_the_program_pass(numbers):
    added = 0x40000005
    assert numbers.codes.outward(added) == numbers.codes.inward(added) == added


def test_the_code_of_abort_is_the_programs(numbers):
    assert numbers.of("MPI_Abort", "errorcode") is None
