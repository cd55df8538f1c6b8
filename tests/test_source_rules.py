"""Rules that hold of all sources: docstrings, imports, lines of C, methods, options that pytest knows."""

import ast
import gc
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import amaranth
import grimp
import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("hdl", "firmware", "host", "sim", "tests", "examples")
QUESTION = re.compile(r"(What|Whether|Of|Those|As|Who|That|Which|How|Where|When|Why|If)\b")


def questions(tree):
    """Yield line and first words of each docstring that begins as a question does, or a half sentence."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node) or ""
            if QUESTION.match(text):
                yield node.body[0].lineno, text.partition("\n")[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_begins_as_a_question(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in questions(ast.parse(path.read_text()))
    ]
    assert not found, 'begin with "Return ...", "Send ...", "A queue of ...":\n' + "\n".join(found)


def test_a_question_would_be_seen():
    tree = ast.parse('def place():\n    """Where it is."""\n\n\ndef other():\n    """Return it."""\n')
    assert list(questions(tree)) == [(2, "Where it is.")]


@pytest.mark.parametrize("folder", ["hdl", "sim", "tests"])
def test_gateware_is_spelled_in_one_way(folder):
    """States in capitals; names from amaranth where it offers them."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text()
        states = re.findall(r"(?:m\.State\(|m\.next = |ongoing\()\"(\w+)", text)
        assert [state for state in states if state != state.upper()] == [], path
        for names in re.findall(r"^from amaranth\.hdl import ([\w, ]+)$", text, re.MULTILINE):
            assert {*names.split(", ")} - {*amaranth.__all__}, f"{path}: take {names} from amaranth"


# Between tests only what tests made is searched for garbage (tests/conftest.py).


def test_the_collected_tests_are_left_out():
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert not any(isinstance(known, pytest.Session) for known in gc.get_objects())


# No circle among the modules' imports: what a module needs can be read before it, and it can be tested without what
# uses it.


PACKAGES = ("lanai_hdl", "lanai_firmware", "lanai_host", "lanai_sim", "openlanai")
# Modules that name each other in type annotations only. Nothing may be added; what no longer is a
# circle is to be removed.
ALLOWED = [
    {"lanai_hdl.block_config", "lanai_hdl.config"},
]


def imports(**options):
    """{module: the modules that it imports}, those imported inside functions too."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None, **options)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(graph):
    """The largest sets of modules in which each imports every other one, directly or through
    others."""
    reached = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }


def reachable(graph, start):
    found, waiting = set(), [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, {frozenset("abc")}),
        ({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}, {frozenset("ab"), frozenset("cd")}),
    ],
)
def test_circles_are_found(graph, expected):
    assert circles(graph) == expected


def test_there_is_no_circle_at_run_time():
    assert not circles(imports(exclude_type_checking_imports=True))


def test_there_is_none_for_types_but_the_known_ones():
    new = [sorted(found) for found in circles(imports()) if not any(found <= allowed for allowed in ALLOWED)]
    assert not new


# Native sources keep to the width that ruff holds for Python.


SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}
WIDTH = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["line-length"]


def too_wide(text):
    """Return the numbers of the lines that are too wide."""
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]


def test_no_line_is_too_wide():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    assert {path.relative_to(ROOT).as_posix() for path in files if too_wide(path.read_text())} == set()


def test_a_line_that_is_too_wide_is_found():
    assert too_wide("\n" + "x" * WIDTH + "\n" + "x" * (WIDTH + 1)) == [3]


# No source replaces a method of an object. What must be told of calls declares a sink, or is wrapped in a class with
# the same interface.


FOLDERS_OF_CLASSES = (
    "hdl/lanai_hdl",
    "firmware/lanai_firmware",
    "host/lanai_host",
    "sim/lanai_sim",
    "examples",
)
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


@pytest.mark.parametrize("package", FOLDERS_OF_CLASSES)
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


# Options of pytest that leave out what tests/conftest.py can do without.


HERE = Path(__file__).parent


def test_pytest_runs_without_its_cache():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(HERE / "hdl/test_words.py"),
    ]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
