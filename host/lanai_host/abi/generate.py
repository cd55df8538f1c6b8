"""C text of the library: a front that programs link with, and a bridge that hands each call to
Python.

The front defines every function of mpi.h, under its PMPI_ name too, and calls through a table. The
bridge is a cffi module that fills the table with functions which enter Python. Functions that need
no Python at all stay in C.
"""

import re
from importlib import resources

from ..c_module import IN_LIBRARY, text_of
from ..mpi.added_codes import LAST_PREDEFINED
from .flavor import START, Flavor
from .header import Function, Header

# What the front answers once Python has ended, beyond "success" (mpi4py asks from Py_AtExit).
_WHEN_DEAD = {"MPI_Initialized": "*flag = 1; ", "MPI_Finalized": "*flag = 1; "}


def in_c(function: Function, flavor: Flavor) -> str | None:
    """The C body of a function that needs no Python."""
    name = function.name.removeprefix("MPI_")
    parameters = [parameter.name for parameter in function.parameters]
    if name == "Pcontrol":
        return f"(void){parameters[0]}; return MPI_SUCCESS;"
    if name == "Aint_add":
        return "return base + disp;"
    if name == "Aint_diff":
        return "return addr1 - addr2;"
    if re.fullmatch(r"[A-Z][a-z]+_(c2f|f2c|toint|fromint)", name) and not name.startswith("Status_"):
        return f"return ({function.returns})(intptr_t){parameters[0]};"
    return None


def shortcut(function: Function, flavor: Flavor) -> str | None:
    """The C statements of a function that needs no Python as long as its pointers lead somewhere.
    Python refuses the others."""
    name = function.name.removeprefix("MPI_")
    parameters = [parameter.name for parameter in function.parameters]
    if name == "Abi_get_version":
        # mpi4py tells the ABIs apart by this: the MPICH ABI has no version of the standard's.
        values = (1, 0) if flavor.wide else (-1, -1)
        return f"*{parameters[0]} = {values[0]}; *{parameters[1]} = {values[1]};"
    field = re.fullmatch(r"Status_(get|set)_(source|tag|error)", name)
    if field is not None:
        own, member = parameters[1], f"status->MPI_{field[2].upper()}"
        assign = f"{member} = {own}" if field[1] == "set" else f"*{own} = {member}"
        return f"{assign};"
    if re.fullmatch(r"Status_\w+2\w+|Status_(to|from)int", name):
        return f"memcpy({parameters[1]}, {parameters[0]}, sizeof(MPI_Status));"
    return None


# Calls that functions of `lanai_in_c` may answer: those functions, and their arguments. No pointer may be null.
_ANSWERED = {
    "MPI_Add_error_class": ("add_class", "lanai_in_c.codes, errorclass"),
    "MPI_Add_error_code": ("add_code", "lanai_in_c.codes, errorclass, errorcode"),
    "MPI_Add_error_string": ("set_text", "lanai_in_c.codes, errorcode, string"),
    "MPI_Remove_error_class": ("remove_class", "lanai_in_c.codes, errorclass"),
    "MPI_Remove_error_code": ("remove_code", "lanai_in_c.codes, errorcode"),
    "MPI_Remove_error_string": ("set_text", 'lanai_in_c.codes, errorcode, ""'),
    "MPI_Pready": ("ready", "(intptr_t)request, partition"),
    "MPI_Parrived": ("arrived", "(intptr_t)request, partition, flag"),
}


def _answered(function: Function, flavor: Flavor) -> str:
    """C text that lets C answer the call, if it can."""
    if function.name not in _ANSWERED:
        return ""
    name, arguments = _ANSWERED[function.name]
    conditions = [f"lanai_in_c.{name}", *(p.name for p in function.parameters if p.pointers)]
    if flavor.wide and function.name == "MPI_Add_error_code":  # predefined classes have other numbers here
        conditions.append(f"errorclass > {LAST_PREDEFINED}")
    return f"if ({' && '.join(conditions)} && lanai_in_c.{name}({arguments})) return MPI_SUCCESS;\n    "


def _with_shortcut(function: Function, flavor: Flavor) -> str:
    """C text to stand before the call of Python."""
    statements = shortcut(function, flavor)
    if statements is None:
        return ""
    pointers = [parameter for parameter in function.parameters if parameter.pointers]
    conditions = [parameter.name for parameter in pointers]
    conditions += [f"{p.name} != MPI_STATUS_IGNORE" for p in pointers if p.base == "MPI_Status"]
    return f"if ({' && '.join(conditions)}) {{ {statements} return MPI_SUCCESS; }}\n    "


def _before(function: Function, flavor: Flavor) -> str:
    """C text to stand before the call of Python: it returns where C can answer."""
    return _answered(function, flavor) + _with_shortcut(function, flavor)


def table(header: Header, flavor: Flavor) -> tuple[str, list[Function]]:
    """The struct of function pointers, and the functions in it."""
    crossing = [f for f in header.functions.values() if in_c(f, flavor) is None]
    fields = "\n".join(
        f"    {flavor.plain_result(f)} (*{f.name})({', '.join(flavor.plain(p) for p in f.parameters) or 'void'});"
        for f in crossing
    )
    return f"struct lanai_table {{\n{fields}\n}};", crossing


def status_struct(header: Header) -> str:
    fields = " ".join(f"int {name}{f'[{length}]' if length else ''};" for name, length in header.status)
    return f"typedef struct {{ {fields} }} lanai_status;"


def _call(function: Function, flavor: Flavor) -> str:
    arguments = []
    for parameter in function.parameters:
        plain = flavor.plain(parameter)
        arguments.append(f"({plain}){parameter.name}")
    call = f"lanai_table.{function.name}({', '.join(arguments)});"
    before, after = "int lanai_outer = in_library(1);", "in_library(lanai_outer);"
    if function.returns == "void":
        return f"{before} {call} {after}"
    returns = function.returns
    return f"{before} {returns} lanai_result = ({returns}){call} {after} return lanai_result;"


def _definition(function: Function, flavor: Flavor) -> str:
    body = in_c(function, flavor)
    if body is None:
        dead = _WHEN_DEAD.get(function.name, "") + f"return ({function.returns})0;"
        enter = f"if (__builtin_expect(lanai_state != READY, 0) && !lanai_enter()) {{ {dead} }}"
        body = (
            f"{_before(function, flavor)}{enter}\n    lanai_caller = __builtin_return_address(0);\n    "
            "lanai_frame = __builtin_frame_address(0);\n    "
            f"{_call(function, flavor)}"
        )
    alias = re.sub(rf"\b{function.name}\b", f"P{function.name}", function.declaration, count=1)
    return f'{function.declaration} {{\n    {body}\n}}\n{alias} __attribute__((alias("{function.name}")));\n'


def front(header: Header, flavor: Flavor) -> str:
    """The C text of the shared library."""
    struct, _ = table(header, flavor)
    hidden = "\n".join(f"#undef {name}\n#undef P{name}" for name in header.functions)
    own = text_of((IN_LIBRARY, (__package__, "front")))
    extra = "" if flavor.wide else resources.files(__package__).joinpath("mpich_data.c").read_text()
    definitions = "\n".join(_definition(function, flavor) for function in header.functions.values())
    parts = [
        f"#define _GNU_SOURCE\n#include <stdint.h>\n#include <stddef.h>\n#include <{flavor.header}>\n{hidden}",
        status_struct(header),
        struct,
        "static struct lanai_table lanai_table;",
        f'#define LANAI_START "{START}"',
        own,
        resources.files(__package__).joinpath("crash.c").read_text(),
        extra,
        definitions,
    ]
    return "\n".join(parts)


def bridge(header: Header, flavor: Flavor) -> tuple[str, str]:
    """(declarations for cffi, C text) of the module that fills the table."""
    struct, crossing = table(header, flavor)
    status = status_struct(header)
    entries = "\n".join(
        f"    {flavor.plain_result(f)} {f.name}({', '.join(flavor.plain(p) for p in f.parameters) or 'void'});"
        for f in crossing
    )
    declared = f'{status}\nvoid lanai_fill(void *);\nextern "Python" {{\n{entries}\n}}'
    filled = "\n".join(f"    table->{f.name} = {f.name};" for f in crossing)
    text = f"{struct}\nstatic void lanai_fill(void *at) {{\n    struct lanai_table *table = at;\n{filled}\n}}"
    prototypes = "\n".join(
        f"static {flavor.plain_result(f)} {f.name}({', '.join(flavor.plain(p) for p in f.parameters) or 'void'});"
        for f in crossing
    )
    return declared, f"#include <stdint.h>\n{status}\n{prototypes}\n{text}"
