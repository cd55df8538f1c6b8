"""A C program, generated from mpi.h, that passes every wrong value of `lanai_host.abi.arguments` to
every function."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from lanai_host.abi.arguments import NULL_TYPES, Prototype, Refusal, Wrong, refusals
from lanai_host.abi.flavor import INTERFACE, STANDARD, Flavor
from lanai_host.abi.library import library_directory
from lanai_host.mpi.errors import ErrorClass

from .argument_values import IN_OUT, valid, wrong_values
from .jobs import C, mpicc

BOUND = (
    "import ctypes, os; ctypes.CDLL(os.environ['LIB']).MPI_Init(None, None);"
    "import json; from lanai_host.abi.binding import BINDINGS; print(json.dumps(sorted(BINDINGS)))"
)
# Calls that begin or end what the program needs.
NOT_CALLED = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Session_init"}
LIBRARY_COUNTS = ("sendcount", "recvcount")  # of collectives: the library knows whether they mean something here
_ELEMENTS = {"count", "incount", "sendcount", "recvcount"}
_PEERS = {"dest", "source"}


class Case(NamedTuple):
    """One call with one wrong argument. `place`: whose error handler must be called, as `called` in
    the program names it, with "C" for the communicator's; `call`: the C text."""

    function: str
    refusal: Refusal
    value: str
    place: str
    call: str


def bound_prototypes(flavor: Flavor) -> dict[str, Prototype]:
    """The functions that the library has, with their parameters."""
    directory = library_directory(flavor.name)
    environment = {**os.environ, "LIB": str(directory / flavor.soname)}
    done = subprocess.run([sys.executable, "-c", BOUND], env=environment, capture_output=True, text=True, check=True)
    bound = set(json.loads(done.stdout.splitlines()[-1]))
    functions = json.loads((directory / INTERFACE).read_text())["functions"]
    return {
        name: [tuple(parameter) for parameter in parameters]
        for name, (result, parameters) in functions.items()
        if result == "int" and (name in bound or name.removesuffix("_c") in bound)
    }


def compile_for(flavor: Flavor, source: Path) -> str:
    """The generated program, compiled with `lanai mpicc`."""
    binary = source.with_suffix("")
    abi = ["-mpi-abi"] if flavor is STANDARD else []
    mpicc(*abi, "-w", "-O0", "-I", str(C), str(source), "-o", str(binary))
    return str(binary)


def answers(text: str) -> dict[int, tuple[str, ...]]:
    """Return the answers that the program printed: {case: (class or how it ended, handlers, text)}."""
    rows = (line.split("|", 3) for line in text.splitlines() if line.count("|") >= 3 and line.split("|")[0].isdigit())
    return {int(number): tuple(rest) for number, *rest in rows}


def cases(functions: dict[str, Prototype], null_ignores: bool) -> list[Case]:
    """All of them, for these prototypes. `null_ignores`: MPI_STATUS_IGNORE is the null pointer, as
    in the standard ABI."""
    found = []
    for function, parameters in sorted(functions.items()):
        if function in NOT_CALLED or not function.startswith("MPI_"):
            continue
        usual = [valid(function, parameter) for parameter in parameters]
        for refusal in refusals(function, parameters):
            index = next(index for index, parameter in enumerate(parameters) if parameter[0] == refusal.argument)
            if null_ignores and refusal.wrong is Wrong.NULL and parameters[index][1:] == ("MPI_Status", 1, False):
                continue
            place = _place(function, parameters, refusal)
            for value in wrong_values(refusal, parameters[index], usual[index]):
                passed = [*usual[:index], value, *usual[index + 1 :]]
                for others in _variations(function, parameters, passed, refusal):
                    found.append(Case(function, refusal, value, place, f"{function}({', '.join(others)})"))
    return found


def _variations(function: str, parameters: Prototype, passed: list[str], refusal: Refusal) -> list[list[str]]:
    """The arguments, and if a null datatype is among them the same with nothing to send, and with a
    process to send it to. Some functions refuse one only if there is something to send."""
    found = [passed]
    if refusal.error is not ErrorClass.TYPE or refusal.wrong is not Wrong.NULL_HANDLE:
        return found
    if function.removesuffix("_c") in NULL_TYPES:
        return [["0" if one[0] in _PEERS else value for one, value in zip(parameters, passed, strict=True)]]
    for names, value in ((_ELEMENTS, "0"), (_PEERS, "0")):
        for others in list(found):
            changed = [
                value if parameter[0] in names and parameter[2] == 0 else argument
                for parameter, argument in zip(parameters, others, strict=True)
            ]
            if changed not in found:
                found.append(changed)
    return found


def program(all_cases: list[Case]) -> str:
    """The C text."""
    bodies = [f"static int case_{number}(void) {{ return {case.call}; }}" for number, case in enumerate(all_cases)]
    names = ", ".join(f"case_{number}" for number in range(len(all_cases)))
    table = f"static int (*const cases[])(void) = {{{names}}};"
    text = ['#include "wrong_arguments.h"', *bodies, named_classes(), table, '#include "wrong_arguments_main.h"']
    return "\n".join([*text, ""])


def named_classes() -> str:
    """A C function that names an error class."""
    classes = "\n".join(
        f'    if (class == MPI_ERR_{one.name}) return "{one.name}";'
        for one in ErrorClass
        if one is not ErrorClass.SUCCESS
    )
    return f'static const char *name_of(int class) {{\n{classes}\n    return class ? "?" : "SUCCESS";\n}}'


def error_class(case: Case, parameters: Prototype) -> ErrorClass:
    """The class of the right answer: of a pointer to a wrong handle, the handle's."""
    if case.value.startswith("(hold_"):
        base = next(parameter[1] for parameter in parameters if parameter[0] == case.refusal.argument)
        return ErrorClass.REQUEST if base == "MPI_Message" else ErrorClass[_CLASS_NAMES.get(base, base[4:].upper())]
    return case.refusal.error


_CLASS_NAMES = {"MPI_Datatype": "TYPE"}


def _place(function: str, parameters: Prototype, refusal: Refusal) -> str:
    """The handler that is called: "C" the communicator's, "N" the window's, "X" the session's, "F" the
    file's, "L" MPI_FILE_NULL's, "S" MPI_COMM_SELF's."""
    stem = function.removeprefix("MPI_").removesuffix("_c")
    if stem.startswith(("File_", "Register_datarep")):
        handles = [name for name, base, *_ in parameters if base == "MPI_File" and stem != "File_open"]
        return "F" if handles and handles[0] != refusal.argument else "L"
    for base, place in (
        ("MPI_Comm", "C"),
        ("MPI_Win", "N"),
        ("MPI_Session", "X"),
        ("MPI_Request", "C"),
        ("MPI_Message", "C"),
    ):
        for name, kind, pointers, _ in parameters:
            mine = kind == base and (pointers == 0 or (stem, name) in IN_OUT or name.startswith("array_of_requests"))
            if mine and stem != "Grequest_complete":
                unread = refusal.argument in ("count", "incount") and name.startswith("array_of")
                return "S" if unread or name == refusal.argument else place
    if any(parameter[1] == "MPI_Errhandler" and parameter[2] == 0 for parameter in parameters):
        return "S" if refusal.argument == "errhandler" else "O"
    return "S"
