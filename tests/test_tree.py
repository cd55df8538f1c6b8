"""The tests of a part of the source are in the folder of tests/ that has its name. `python tests/test_tree.py` prints
the sizes of the tree: what adds an idea is seen in them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

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


class Size(NamedTuple):
    """The Python files of a part of the tree: how many, their lines, the median of a file, lines of imports."""

    files: int
    lines: int
    median: int
    imports: int


def sizes() -> Iterator[tuple[str, Size]]:
    """Give the parts of the tree with their sizes."""
    for name in (*PACKAGES, "tests"):
        texts = [path.read_text(encoding="utf-8") for path in sorted((TESTS.parent / name).rglob("*.py"))]
        lines = [len(text.splitlines()) for text in texts if text.strip()]
        yield name, Size(len(texts), sum(lines), round(median(lines)), sum(map(import_lines, texts)))


def import_lines(text: str) -> int:
    """Return the lines of a module's imports."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom))
    return sum(node.end_lineno - node.lineno + 1 for node in found)


def test_lines_of_imports_are_counted():
    assert (
        import_lines("import os\nfrom a import (\n  b,\n)\n\ndef f():\n    from c import d\n    return d, b, os\n") == 5
    )


def test_each_part_of_the_tree_has_a_size():
    assert all(size.files and 0 < size.imports < size.lines and size.median for _, size in sizes())


if __name__ == "__main__":
    print(f"{'':24}{'files':>8}{'lines':>8}{'median':>8}{'imports':>8}")
    for name, size in sizes():
        print(f"{name:24}" + "".join(f"{number:8,}" for number in size))
