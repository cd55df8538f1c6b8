"""Wrong arguments of collectives between two groups: each is refused with its class, by the
inter-communicator's error handler."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from lanai_host.abi.arguments import Prototype, refusals
from lanai_host.abi.flavor import MPICH, STANDARD
from lanai_host.mpi.errors import ErrorClass
from lanai_sim.studies.benches.mpi import mpich

from .jobs import C, mpicc, together
from .wrong_arguments import answers, bound_prototypes, compile_for, named_classes, valid, wrong_values

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


@pytest.fixture(scope="module", params=[MPICH, STANDARD], ids=lambda flavor: flavor.name)
def flavor(request):
    return request.param


@pytest.fixture(scope="module")
def all_cases(flavor):
    return cases(bound_prototypes(flavor))


@pytest.fixture(scope="module")
def source(all_cases, tmp_path_factory):
    path = tmp_path_factory.mktemp("between") / "between.c"
    path.write_text(program(all_cases))
    return path


def test_every_collective_is_tried(all_cases):
    assert {family(case.function) for case in all_cases} == ROOTED | OF_ALL | set(WITHIN_A_GROUP)
    assert len(all_cases) > 1500
    assert sum(case.error is ErrorClass.SUCCESS for case in all_cases) > 50


def test_wrong_arguments_are_refused(flavor, all_cases, source):
    done = together(3, compile_for(flavor, source), "user", "0", "60")
    assert "Traceback" not in done.stderr
    found = answers(done.stdout)
    wrong = []
    for number, case in enumerate(all_cases):
        expected = (case.error.name, "O" if case.error is not ErrorClass.SUCCESS else "")
        if found.get(number, ())[:2] != expected:
            wrong.append(f"{case.call}: {expected}; got {found.get(number)}")
    assert not wrong, f"{len(wrong)} of {len(all_cases)}: " + "\n".join([*wrong[:40], done.stderr[-1000:]])


def on_mpich(binary, total):
    """Return the program's answers on MPICH; it is started again behind each case that ends it."""
    starter, libraries = mpich()
    found, begin = {}, 0
    while begin < total:
        done = subprocess.run(
            [str(starter), "-n", "3", str(binary), "return", str(begin), "5"], env={"LD_LIBRARY_PATH": str(libraries),
             "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, errors="replace", check=False, timeout=600,
        )  # fmt: skip
        found |= answers(done.stdout)
        begin = max(found, default=begin - 1) + 1
        if begin < total:
            found[begin] = ("ended", "", "")
            begin += 1
    return found


# Where MPICH answers otherwise, by function (or ""), argument and our class: why.
DIFFERENT = {
    ("", "info", "INFO"): "MPICH says MPI_ERR_ARG; the standard has MPI_ERR_INFO",
    **{
        (name, "datatype", "TYPE"): "MPICH looks at the operation first"
        for name in ("Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block")
    },
    **{
        ("Bcast", name, "SUCCESS"): "MPICH looks at them where the root is MPI_PROC_NULL; there they have no meaning"
        for name in ("buffer", "count", "datatype")
    },
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(mpich() is None, reason="the mpich wheel is not installed")
@pytest.mark.parametrize("flavor", [MPICH], indirect=True, scope="module")
def test_mpich_answers_alike(flavor, all_cases, source):
    mpicc = Path(sys.executable).with_name("mpicc")
    binary = source.with_name("with_mpich")
    subprocess.run([mpicc, "-w", "-O0", "-I", str(C), str(source), "-o", str(binary)], check=True)
    found = on_mpich(binary, len(all_cases))
    others, compared = [], 0
    for number, case in enumerate(all_cases):
        answer = found[number][0]
        if "freed_" in case.call or answer in ("ended", "?", "OTHER"):
            continue  # MPICH gives a freed number to the next object, gives no class of its own, or dies or waits
        if answer == "SUCCESS" and case.error is not ErrorClass.SUCCESS:
            continue  # it does not look
        compared += 1
        known = {(name, case.argument, case.error.name) for name in (family(case.function), "")} & DIFFERENT.keys()
        if answer != case.error.name and not known:
            others.append(f"{case.call}: {case.error.name}, MPICH {answer} ({found[number][2]})")
    assert not others, f"{len(others)}: " + "\n".join(others[:60])
    assert compared > 400


# Wrong arguments on inter-communicators, and wrong keys of attributes: the class of the answer, which is MPICH's
# where it looks.


EXPECTED = [
    *[("Send", "RANK"), ("Recv", "RANK"), ("Bcast", "ROOT"), ("Scan", "COMM"), ("Exscan", "COMM")],
    *[("Cart_create", "COMM"), ("Graph_create", "COMM"), ("Comm_create_group", "COMM")],
    *[("Intercomm_create", "COMM"), ("Intercomm_create", "RANK"), ("Intercomm_create", "COMM")],
    *[("Intercomm_create", "RANK"), ("Intercomm_merge", "COMM"), ("Comm_remote_size", "COMM")],
    *[("Comm_remote_group", "COMM"), ("Bcast", "ROOT")],
    *[(f"Comm_{what}_attr", "KEYVAL") for what in ("set", "get", "delete", "set", "delete", "set", "get")],
    *[("Type_set_attr", "KEYVAL"), ("Comm_free_keyval", "KEYVAL"), ("Comm_free_keyval", "KEYVAL")],
    *[("Comm_set_attr", "KEYVAL"), ("Comm_set_attr", "COMM")],
]
MPICH_ENDS = 12  # at MPI_Intercomm_merge of no inter-communicator it dies


@pytest.fixture(scope="module")
def program_between_groups(tmp_path_factory):
    made = tmp_path_factory.mktemp("between") / "between_groups"
    mpicc("-Wall", "-Wextra", "-Werror", str(C / "between_groups.c"), "-o", str(made))
    return made


def answers_between_groups(text):
    """(function, class) of each line."""
    found = re.findall(r"^MPI_(\w+)\(.*\): (\d+)$", text, re.M)
    return [(function, ErrorClass(int(number)).name) for function, number in found]


def test_each_is_refused_with_its_class(program_between_groups):
    done = together(2, str(program_between_groups))
    assert done.returncode == 0, done.stderr
    assert answers_between_groups(done.stdout) == EXPECTED


@pytest.mark.skipif(mpich() is None, reason="the mpich wheel is not installed")
def test_mpich_answers_alike_between_groups(program_between_groups):
    starter, libraries = mpich()
    command = [str(starter), "-n", "2", str(program_between_groups)]
    done = subprocess.run(
        command,
        env={"LD_LIBRARY_PATH": str(libraries), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answers_between_groups(done.stdout) == EXPECTED[:MPICH_ENDS]
