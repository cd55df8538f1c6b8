"""The tests of a part of the source are in the folder of tests/ that has its name."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGES = ("hdl/lanai_hdl", "firmware/lanai_firmware", "host/lanai_host", "sim/lanai_sim")
# Folders whose subject is more than one part of the source.
WHOLE = {
    "hdl/bad_input": "faults injected into a whole NIC",
    "hdl/extending": "the hardware block of docs/extending.md",
    "host/c": "programs in C, for tests of several folders",
    "host/fortran": "programs in Fortran, likewise",
    "host/traffic": "random MPI traffic, on NICs and on MPICH",
    "host/two_nodes": "driver, firmware and gateware together, whatever simulates them",
    "sim/extending": "the other examples of docs/extending.md",
    "sim/explore/programs": "programs with a wrong order that plain runs pass",
    "sim/labs/solutions": "solutions of the labs, kept out of the package",
    "sim/docs": "the commands and outputs of the documentation",
}


def folders(package):
    """Return the folders below tests/ that hold tests of the package, as they would be called in it."""
    top = TESTS / package.split("/", maxsplit=1)[0]
    return sorted({path.parent.relative_to(top).as_posix() for path in top.rglob("*.py")})


def has(package, folder):
    place = TESTS.parent / package / folder
    return place.is_dir() or place.with_suffix(".py").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_of_tests_has_the_name_of_a_part_of_the_source(package):
    top = package.split("/", maxsplit=1)[0]
    whole = [name.removeprefix(f"{top}/") for name in WHOLE if name.startswith(f"{top}/")]
    own = [folder for folder in folders(package) if not any(f"{folder}/".startswith(f"{name}/") for name in whole)]
    assert [folder for folder in own if not has(package, folder)] == []


def test_every_exception_is_needed():
    assert [name for name in WHOLE if not (TESTS / name).is_dir()] == []
    tops = {package.split("/", maxsplit=1)[0]: package for package in PACKAGES}
    assert [name for name in WHOLE if has(tops[name.partition("/")[0]], name.partition("/")[2])] == []
