"""Building the library: the front and the bridge compiled, the interface written down. What is compiled knows no place:
a copy of it gets a file beside it that says with which Python it starts."""

import json
import keyword
import platform
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from lanai_firmware.building import Work

from ..c_module import IN_LIBRARY, compile_module, text_of
from ..compilers import Language, bind_own_functions, find
from ..mpi.added_codes import LAST_PREDEFINED
from . import guest
from .flavor import BRIDGE, INTERFACE, START, Flavor
from .header import Function, Header, read
from .installed import include_directory

# C text of the library: a front that programs link with, and a bridge that hands each call to Python. The front
# defines every function of mpi.h, under its PMPI_ name too, and calls through a table. The bridge is a cffi module
# that fills the table with functions which enter Python. Functions that need no Python at all stay in C.


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


READ, COMPILE = "reading mpi.h", "compiling the library and its bridge to Python"
STEPS = {READ: 1.0, COMPILE: 1.7}
# Both are long lists of short functions, which more optimization makes no faster: -O2 takes twice as long.
_FLAGS = ("-O1", "-w", "-fPIC", "-shared")
# Python text that the front runs at the first MPI call, as a module of its own: the program's variables
# are not touched. It asks that lanai_host can be imported; if not, it looks where that was when the
# library was put in its place.
_BOOT = """
import sys
machinery = sys.modules["_frozen_importlib_external"]
if machinery.EXTENSION_SUFFIXES[0] != {suffix!r}:
    print("lanai: error: the Python of this program is " + sys.version.split()[0] + ", and that of openlanai {python}; "
        "install openlanai in the program's environment, and start it with the lanai from there",
        file=sys.stderr, flush=True)
    __import__("os")._exit(2)
def load(name, path):
    module = type(sys)(name)
    module.__file__ = path
    machinery.SourceFileLoader(name, path).exec_module(module)
    return module
hide = None
with load("lanai_own_imports", {own_imports!r}).OwnImports() as own:
    try:
        import lanai_host
    except ImportError:
        hide = load("lanai_guest", {guest!r}).finder({paths!r}).hide
    from lanai_host.abi.runtime import attach
    attach({flavor!r}, {directory!r}, TABLE, STATE, STARTED, UNWEIGHTED, EMPTY, own, hide)
"""
# What the front puts in when it runs the text.
_FORMS = {
    "TABLE": "int('%p', 16)",
    "STATE": "int('%p', 16)",
    "STARTED": "%d",
    "UNWEIGHTED": "int('%p', 16)",
    "EMPTY": "int('%p', 16)",
}


def build(flavor: Flavor, work: Path) -> None:
    """Fill `work` with what is compiled."""
    with Work(flavor.soname, "this Python", STEPS) as steps:
        steps.step(READ)
        header = read(flavor.header)
        steps.step(COMPILE)
        with ThreadPoolExecutor(max_workers=1) as second:
            bridge = second.submit(_compile_bridge, header, flavor, work)
            _compile_front(front(header, flavor), flavor, work)
            bridge.result()
    (work / INTERFACE).write_text(json.dumps(interface(header, flavor)))


def put(
    flavor: Flavor, compiled: Path, work: Path, directory: Path, interpreter: str, paths: list[str], libpython: str
) -> None:
    """Fill `work`, which becomes `directory`, with a library that starts `interpreter`. `paths`: where that finds our
    packages."""
    for name in (flavor.soname, f"{BRIDGE}.so", INTERFACE):
        shutil.copyfile(compiled / name, work / name)
    for name in flavor.links:
        (work / name).symlink_to(flavor.soname)
    start = [interpreter, libpython, _boot(flavor, directory, paths), ""]
    (work / START).write_bytes("\0".join(start).encode(errors="surrogateescape"))


def _boot(flavor: Flavor, directory: Path, paths: list[str]) -> str:
    boot = _BOOT.format(
        suffix=EXTENSION_SUFFIXES[0],
        python=platform.python_version(),
        own_imports=str(Path(guest.__file__).with_name("own_imports.py")),
        guest=guest.__file__,
        paths=paths,
        flavor=flavor.name,
        directory=str(directory),
    ).replace("%", "%%")
    for name, form in _FORMS.items():
        boot = boot.replace(name, form)
    return f"exec({boot!r}, {{'__name__': {guest.BOOT!r}}})"


def _compile_front(text: str, flavor: Flavor, work: Path) -> None:
    compiler = find(Language.C)
    linked = (f"-Wl,-soname,{flavor.soname}", bind_own_functions(compiler), "-ldl", "-lpthread")
    made = ("-o", str(work / flavor.soname), "-x", "c", "-")
    compiler.run([*_FLAGS, "-I", str(include_directory()), *made, *linked], f"building {flavor.soname}", text)


def _compile_bridge(header: Header, flavor: Flavor, work: Path) -> None:
    declared, text = bridge(header, flavor)
    compile_module(BRIDGE, declared, text, work / f"{BRIDGE}.so", _FLAGS)


def interface(header: Header, flavor: Flavor) -> dict[str, object]:
    """Return the part of the header that the bindings need at run time."""
    _, crossing = table(header, flavor)
    return {
        "constants": header.constants,
        "functions": {
            f.name: [
                flavor.plain_result(f),
                [[_python_name(p.name), p.base, p.pointers, p.const] for p in f.parameters],
            ]
            for f in crossing
        },
    }


def _python_name(name: str) -> str:
    """A parameter's name as the bindings write it."""
    return f"{name}_" if keyword.iskeyword(name) else name
