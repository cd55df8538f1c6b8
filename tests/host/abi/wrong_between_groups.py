"""Wrong arguments of collectives on an inter-communicator: the calls, and the C program that makes
them.

Processes 0 and 2 are one group, process 1 is the other. Process 0 passes the wrong value, in each
role that a rooted collective has: it is the root (MPI_ROOT), the root is in the other group (0), or
another process of its own group is the root (MPI_PROC_NULL). A call that is refused needs no
partners. A value that has no meaning in a role is not refused there, so the others make the calls
that belong to it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lanai_host.abi.arguments import Prototype, refusals
from lanai_host.mpi.errors import ErrorClass

from .argument_values import valid, wrong_values
from .wrong_arguments import named_classes

ROOTED = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce"}
OF_ALL = {"Barrier", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Allreduce"}
OF_ALL |= {"Reduce_scatter", "Reduce_scatter_block"}
WITHIN_A_GROUP = {"Scan": ErrorClass.COMM, "Exscan": ErrorClass.COMM}
# The root that process 0 names, and those of processes 1 and 2.
ROLES = {"MPI_ROOT": ("0", "MPI_PROC_NULL"), "0": ("MPI_ROOT", "0"), "MPI_PROC_NULL": ("1", "MPI_ROOT")}
REFUSED_EVERYWHERE = {"root", "request", "info"}
BUFFERS = {"sendbuf", "recvbuf"}


class Case(NamedTuple):
    """One call, the class of its answer, and the calls of processes 1 and 2 if it is not
    refused."""

    function: str
    argument: str
    error: ErrorClass
    call: str
    partners: tuple[str, ...] = ()


def family(function: str) -> str:
    """MPI_Ibcast_c -> Bcast"""
    stem = function.removeprefix("MPI_").removesuffix("_c").removesuffix("_init")
    return re.sub(r"^I(\w)", lambda found: found[1].upper(), stem)


def cases(functions: dict[str, Prototype]) -> list[Case]:
    """All of them, for these prototypes."""
    found: list[Case] = []
    for function, parameters in sorted(functions.items()):
        name = family(function)
        if name in ROOTED:
            for role in ROLES:
                found += _wrong(function, parameters, role)
        elif name in OF_ALL:
            found += _wrong(function, parameters, "")
        elif name in WITHIN_A_GROUP:
            call = _call(function, parameters, {})
            found.append(Case(function, "comm", WITHIN_A_GROUP[name], call))
    return found


def program(all_cases: list[Case]) -> str:
    """The C text."""
    bodies = []
    for number, case in enumerate(all_cases):
        bodies.append(f"static int case_{number}(void) {{ return {case.call}; }}")
        for process, call in enumerate(case.partners, 1):
            bodies.append(f"static int partner_{number}_{process}(void) {{ return {call}; }}")
    names = ", ".join(f"case_{number}" for number in range(len(all_cases)))
    pairs = (
        f"{{partner_{number}_1, partner_{number}_2}}" if case.partners else "{0}"
        for number, case in enumerate(all_cases)
    )
    tables = [
        f"static int (*const cases[])(void) = {{{names}}};",
        f"static int (*const partners[][2])(void) = {{{', '.join(pairs)}}};",
    ]
    text = ['#include "wrong_arguments.h"', *bodies, named_classes(), *tables, '#include "wrong_between_groups_main.h"']
    return "\n".join([*text, ""])


def _wrong(function: str, parameters: Prototype, role: str) -> Iterator[Case]:
    """Each wrong value of each argument; of a rooted collective in one role."""
    meant = _meant(family(function), role, parameters)
    roots = {"root": role} if role else {}
    for parameter in parameters:
        name = parameter[0]
        for refusal in refusals(function, parameters):
            if refusal.argument != name or name == "comm":
                continue
            for value in wrong_values(refusal, parameter, valid(function, parameter)):
                call = _call(function, parameters, {**roots, name: value})
                if name in meant:
                    yield Case(function, name, refusal.error, call)
                elif _blocking(function):
                    partners = tuple(_call(function, parameters, {"root": root}) for root in ROLES[role])
                    yield Case(function, name, ErrorClass.SUCCESS, call, partners)
        if name in BUFFERS & meant:
            call = _call(function, parameters, {**roots, name: "MPI_IN_PLACE"})
            yield Case(function, name, ErrorClass.BUFFER, call)


def _meant(name: str, role: str, parameters: Prototype) -> set[str]:
    """The arguments that mean something to this process."""
    everything = {parameter[0] for parameter in parameters}
    if not role or name == "Bcast":
        return everything if role != "MPI_PROC_NULL" else REFUSED_EVERYWHERE & everything
    if role == "MPI_PROC_NULL":
        return REFUSED_EVERYWHERE & everything
    sends = (role == "0") == (name in ("Gather", "Gatherv", "Reduce"))
    others = {one for one in everything if one.startswith("recv" if sends else "send")}
    if name in ("Gatherv", "Scatterv") and role == "0":
        others.add("displs")
    return everything - others


def _blocking(function: str) -> bool:
    return function.removesuffix("_c") == f"MPI_{family(function)}"


def _call(function: str, parameters: Prototype, changed: dict[str, str]) -> str:
    passed = {"comm": "comm", **changed}
    return f"{function}({', '.join(passed.get(one[0]) or valid(function, one) for one in parameters)})"
