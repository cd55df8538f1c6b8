"""Wrong arguments of collectives between two groups: each is refused with its class, by the
inter-communicator's error handler."""

import subprocess
import sys
from pathlib import Path

import pytest

from lanai_host.abi.flavor import MPICH, STANDARD
from lanai_host.mpi.errors import ErrorClass
from lanai_sim.studies.benches.mpi import mpich

from .jobs import C, together
from .wrong_arguments import answers, bound_prototypes, compile_for
from .wrong_between_groups import OF_ALL, ROOTED, WITHIN_A_GROUP, cases, family, program


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
