"""The declarations of mpi.h, read mechanically: prototypes, constants, the status.

The header is the one of the `mpich` package, the declarations that binaries out there were compiled with. Nothing in it
is retyped here: handles, constants and the layout of MPI_Status all come from the file.
"""

import ast
import operator
import re
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from pycparser import c_ast, c_generator, c_parser

from ..compilers import Language, find
from ..errors import UserError
from .installed import include_directory

# Declarations beside those of a header.
_BESIDE = {"mpi.h": resources.files(__package__).joinpath("mpich_fortran.h").read_text()}
# GNU spellings that pycparser does not know.
_PLAIN_C = ("-D__attribute__(x)=", "-D__extension__=", "-D__restrict=", "-D__inline=", "-D__asm__(x)=")


@dataclass(frozen=True)
class Parameter:
    """`base` is the type's name without `const` and pointers; arrays count as pointers."""

    name: str
    base: str
    pointers: int
    const: bool


@dataclass(frozen=True)
class Function:
    """A prototype, and the C text of it."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...]
    declaration: str


@dataclass
class Header:
    """`status` lists the fields of MPI_Status as (name, array length or 0)."""

    functions: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    status: list[tuple[str, int]] = field(default_factory=list)


def read(name: str) -> Header:
    """Parse `name` ("mpi.h", or "mpi_abi.h" for the standard ABI)."""
    include = include_directory()
    if not (include / name).is_file():
        raise UserError(f"{include} has no {name}; pip install --upgrade mpich")
    text = f'#include "{name}"\n' + _BESIDE.get(name, "")
    arguments = ["-E", "-I", str(include), "-x", "c", "-"]
    compiler = find(Language.C)
    source = compiler.run(["-P", *_PLAIN_C, *arguments], f"reading {name}", text)
    macros = compiler.run(["-dM", *arguments], f"reading {name}", text)
    tree = c_parser.CParser().parse(source)
    header = Header()
    _constants(tree, macros, header.constants)
    generator = c_generator.CGenerator()
    for node in tree.ext:
        if isinstance(node, c_ast.Typedef) and node.name == "MPI_Status":
            header.status = _fields(node)
        elif (
            isinstance(node, c_ast.Decl)
            and isinstance(node.type, c_ast.FuncDecl)
            and node.name.startswith(("MPI_", "MPIX_", "MPII_"))
        ):
            header.functions[node.name] = _function(node, generator)
    return header


def _fields(node: Any) -> list[tuple[str, int]]:
    fields = []
    for declared in node.type.type.decls:
        array = isinstance(declared.type, c_ast.ArrayDecl)
        fields.append((declared.name, int(declared.type.dim.value) if array else 0))
    return fields


def _function(node: Any, generator: Any) -> Function:
    parameters = node.type.args.params if node.type.args else []
    named = [p for p in parameters if isinstance(p, c_ast.Decl)]
    return Function(
        node.name,
        generator.visit(node.type.type),
        tuple(_parameter(p) for p in named),
        generator.visit(node),
    )


def _parameter(node: Any) -> Parameter:
    kind, pointers = node.type, 0
    while isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl):
        kind, pointers = kind.type, pointers + 1
    if isinstance(kind, c_ast.FuncDecl):
        return Parameter(node.name, "function", pointers, False)
    named = kind.type
    base = " ".join(named.names) if isinstance(named, c_ast.IdentifierType) else f"struct {named.name}"
    return Parameter(node.name, base, pointers, "const" in kind.quals)


# Constants

_OPERATORS: dict[type, Any] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.LShift: operator.lshift}
_CAST = re.compile(r"\(\s*(?:const\s+)?(?:unsigned\s+)?[A-Za-z_]\w*\s*\**\s*\)")


def _constants(tree: Any, macros: str, constants: dict[str, int]) -> None:
    """Enumerators first, then every macro whose text, without casts, is arithmetic on integers."""
    for node in tree.ext:
        _enumerators(node, constants)
    texts = dict(re.findall(r"^#define (MPIX?_[A-Z0-9][A-Z0-9_]*|MPICH_(?:ERR\w+|NUMVERSION)) (.+)$", macros, re.M))
    for name in texts:
        value = _evaluate(texts[name], texts, constants)
        if value is not None:
            constants[name] = value


def _enumerators(node: Any, constants: dict[str, int]) -> None:
    if isinstance(node, c_ast.EnumeratorList):
        value: int | None = -1
        for enumerator in node.enumerators:
            if enumerator.value is not None:
                value = _evaluate(c_generator.CGenerator().visit(enumerator.value), {}, constants)
            elif value is not None:
                value += 1
            if value is not None:
                constants[enumerator.name] = value
    elif not isinstance(node, c_ast.FuncDecl):
        for _, child in node.children():
            _enumerators(child, constants)


def _evaluate(text: str, texts: dict[str, str], constants: dict[str, int]) -> int | None:
    try:
        tree = ast.parse(_CAST.sub(" ", text).strip(), mode="eval")
    except SyntaxError:
        return None
    return _value(tree.body, texts, constants)


def _value(node: ast.expr, texts: dict[str, str], constants: dict[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.Name):
        if node.id in constants:
            return constants[node.id]
        return _evaluate(texts[node.id], texts, constants) if node.id in texts else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, texts, constants)
        return None if value is None else -value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, texts, constants), _value(node.right, texts, constants)
        if left is None or right is None:
            return None
        result: int = _OPERATORS[type(node.op)](left, right)
        return result
    return None
