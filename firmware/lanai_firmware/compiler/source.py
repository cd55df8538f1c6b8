"""The source of firmware: a function's syntax tree with file, line and column, and errors that
quote them."""

import ast
import functools
import inspect
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from lanai_hdl.errors import UserError

from ..lang.functions import Function


class CompileError(UserError):
    """`file:line:col: what is not allowed; what to write instead`."""


@dataclass(frozen=True)
class Source:
    """One function's tree. `file` is as errors show it; `name` is "module.function", the same on
    every machine."""

    function: Function
    tree: ast.FunctionDef
    file: str
    name: str
    first_line: int
    last_line: int

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        line = getattr(node, "lineno", self.first_line)
        column = getattr(node, "col_offset", 0) + 1
        raise CompileError(f"{self.file}:{line}:{column}: {message}")


def shown_path(path: str) -> str:
    """`path` relative to the current directory if it lies below."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return path


@functools.cache
def module_lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines(keepends=True)


def label_of(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}".replace(".<locals>", "")


def source_of(function: Function) -> Source:
    """The source of a firmware function. Column and line numbers are those of the file."""
    python = function.python
    path = inspect.getsourcefile(python)
    if path is None or not Path(path).exists():
        raise CompileError(f"{label_of(python)}: its source is not in a file; firmware is compiled from files")
    first = python.__code__.co_firstlineno
    block = inspect.getblock(module_lines(path)[first - 1 :])
    indent = len(block[0]) - len(block[0].lstrip())
    tree = ast.parse(textwrap.dedent("".join(block)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise CompileError(f"{shown_path(path)}:{first}:1: firmware is made of plain functions; write def")
    ast.increment_lineno(tree, first - 1)
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset += indent
    return Source(function, definition, shown_path(path), label_of(python), first, first + len(block) - 1)


def stable_path(module: str, path: str) -> str:
    """A file's name in images: that of its module, so that builds do not depend on where the tree
    lies."""
    if module in sys.modules and getattr(sys.modules[module], "__path__", None) is not None:
        module += ".__init__"
    return module.replace(".", "/") + Path(path).suffix


def load_module(path: str | Path) -> ModuleType:
    """The module in file `path`, imported under its dotted name if it lies in a package, else under
    its stem."""
    file = Path(path)
    if not file.exists():
        raise UserError(f"no firmware file {str(path)!r}; name a Python file with @firmware functions")
    file = file.resolve()
    parts = [file.stem]
    root = file.parent
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    name = ".".join(parts)
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    if len(parts) > 1:
        return import_from(root, name)
    return import_file(file, name)


def import_from(root: Path, name: str) -> ModuleType:
    import importlib

    sys.path.insert(0, str(root))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(root))


def import_file(file: Path, name: str) -> ModuleType:
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserError(f"{str(file)!r} is not a Python file; name one with @firmware functions")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        del sys.modules[name]
        raise CompileError(f"{shown_path(str(file))}:{error.lineno}:{error.offset}: {error.msg}") from error
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(file.parent))
    return module
