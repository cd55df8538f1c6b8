"""No source replaces a method of an object. What must be told of calls declares a sink, or is wrapped
in a class with the same interface."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("hdl/lanai_hdl", "firmware/lanai_firmware", "host/lanai_host", "sim/lanai_sim", "examples")
# Amaranth has no sink for this: within a context manager, its operators compute their shapes once. Python's
# `sys.unraisablehook` is given by assignment.
FOREIGN = {"hdl/lanai_hdl/bfm/shapes.py", "sim/lanai_sim/signals.py"}


def replaced(source):
    """Lines that give another object's attribute a function which the same function defines, and
    those that silence the type checker about it."""
    found = [number for number, line in enumerate(source.splitlines(), 1) if "ignore[method-assign]" in line]
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = {one.name for one in ast.walk(function) if one is not function and isinstance(one, ast.FunctionDef)}
            found += [
                one.lineno
                for one in (ast.walk(function) if inner else ())
                if isinstance(one, ast.Assign)
                and any(is_foreign(part) for target in one.targets for part in parts(target))
                and any(isinstance(part, ast.Name) and part.id in inner for part in parts(one.value))
            ]
    return sorted(set(found))


def is_foreign(target):
    """Does it name an attribute of an object other than `self`?"""
    return isinstance(target, ast.Attribute) and not (isinstance(target.value, ast.Name) and target.value.id == "self")


def parts(node):
    return node.elts if isinstance(node, ast.Tuple) else [node]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_method_is_replaced(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = {path.relative_to(ROOT).as_posix(): replaced(path.read_text()) for path in files}
    assert {path for path, lines in found.items() if lines} == {path for path in FOREIGN if path.startswith(package)}


@pytest.mark.parametrize(
    "line", ["x.run = run", "x.run, x.stop = run, None", "x.run = other  # type: ignore[method-assign]"]
)
def test_a_replaced_method_is_found(line):
    assert replaced(f"def around(x):\n    def run(): ...\n    {line}\n") == [3]
    assert replaced("def around(x):\n    def run(): ...\n    x.sink = x.told\n    run()\n") == []
