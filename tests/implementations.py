"""Finds the implementations of a contract in the source, so that no test lists them by hand."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("hdl/lanai_hdl", "firmware/lanai_firmware", "host/lanai_host", "sim/lanai_sim")


@cache
def classes():
    """[(module, name, {names of its bases})] of the whole source. Nothing is imported: programs of
    ranks are among the modules."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to((ROOT / package).parent).with_suffix("").parts
            module = ".".join(parts).removesuffix(".__init__")
            for node in _classes_in(ast.parse(path.read_text())):
                bases = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
                found.append((module, node.name, bases))
    return found


def _classes_in(node):
    """At any depth. Expressions are passed over: that takes half the time."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _classes_in(child)


def implementations(contract):
    """The classes below `contract` that can be made, whatever module they are in."""
    names = {contract.__name__}
    while more := {name for _, name, bases in classes() if bases & names} - names:
        names |= more
    found = {load(module, name) for module, name, bases in classes() if bases & names}
    return {cls for cls in found if contract in cls.__mro__ and not inspect.isabstract(cls)}


def load(module, name):
    return getattr(importlib.import_module(module), name)


def covered(suite):
    """Return the classes that the test classes below `suite` name as their `implementation`."""
    return {cls.__dict__["implementation"] for cls in below(suite) if "implementation" in cls.__dict__}


def below(cls):
    return {cls}.union(*(below(child) for child in cls.__subclasses__()))
