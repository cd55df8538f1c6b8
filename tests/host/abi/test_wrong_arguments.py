"""Wrong arguments: the class of the answer, whose error handler is called, and that no process dies
of one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pairs import first_of

from lanai_host.abi.flavor import MPICH, STANDARD

from . import wrong_arguments
from .jobs import C, alone
from .wrong_arguments import answers, bound_prototypes, compile_for


@pytest.fixture(scope="module", params=[MPICH, STANDARD], ids=lambda flavor: flavor.name)
def flavor(request):
    return request.param


@pytest.fixture(scope="module")
def prototypes(flavor):
    """The functions that the library has, with their parameters."""
    return bound_prototypes(flavor)


@pytest.fixture(scope="module")
def all_cases(flavor, prototypes):
    return wrong_arguments.cases(prototypes, null_ignores=flavor is STANDARD)


@pytest.fixture(scope="module")
def source(all_cases, tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong") / "wrong.c"
    path.write_text(wrong_arguments.program(all_cases))
    return path


@pytest.fixture(scope="module")
def compiled(flavor, source):
    return compile_for(flavor, source)


def test_every_function_is_tried(prototypes, all_cases):
    without = {name for name in prototypes if not prototypes[name]} | wrong_arguments.NOT_CALLED
    tried = {case.function for case in all_cases}
    missing = {name for name in prototypes if name.startswith("MPI_") and name[:6] != "MPI_T_"} - tried - without
    # Functions for which every value of every argument is right.
    assert missing == {"MPI_Free_mem", "MPI_Remove_error_class", "MPI_Remove_error_code", "MPI_Remove_error_string"}
    assert len(all_cases) > 2000


@pytest.mark.parametrize("own", first_of(0, 1))
@pytest.mark.parametrize("mode", first_of("return", "user"))
def test_wrong_arguments_are_refused(prototypes, all_cases, compiled, mode, own):
    done = alone(compiled, mode, str(own))
    assert "Traceback" not in done.stderr
    found = answers(done.stdout)
    wrong = []
    for number, case in enumerate(all_cases):
        place = {"C": "O" if own else "W"}.get(case.place, case.place) if mode == "user" else case.place.strip("CFLNSX")
        expected = wrong_arguments.error_class(case, prototypes[case.function]).name
        if found.get(number, ())[:2] != (expected, place):
            wrong.append(f"{case.call}: class {expected}, handler {place}; got {found.get(number)}")
        elif not found[number][2].startswith(case.function.removesuffix("_c")):
            wrong.append(f"{case.call}: the text does not name the function: {found[number][2]}")
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize("own", first_of(0, 1))
def test_errors_that_abort_end_the_process(all_cases, compiled, own):
    """A sample: each case ends a process."""
    step = 17
    done = alone(compiled, "abort", str(own), str(step))
    found = answers(done.stdout)
    for number in range(0, len(all_cases), step):
        if all_cases[number].place == "O":  # the call brings a handler of its own along
            continue
        assert found[number][0].startswith("exit "), (all_cases[number].call, found[number])
        assert found[number][0] != "exit 0"
    assert "Traceback" not in done.stderr


# Where MPICH answers otherwise, by function (or "") and argument: why.
DIFFERENT = {
    ("", "info"): "MPICH says MPI_ERR_ARG for MPI_INFO_NULL; the standard has MPI_ERR_INFO",
    ("", "datatype"): "of a reduction, MPICH looks at the operation first",
    **{
        (
            f"MPI_{call}_external",
            buffer,
        ): "a null buffer is MPI_ERR_BUFFER everywhere here, in MPICH MPI_ERR_ARG in these two"
        for call in ("Pack", "Unpack")
        for buffer in ("inbuf", "outbuf")
    },
    **{
        (f"MPI_{call}", buffer): "the same in these two"
        for call in ("Compare_and_swap", "Fetch_and_op")
        for buffer in ("origin_addr", "compare_addr", "result_addr")
    },
    **{
        (f"MPI_Win_{call}", argument): "MPICH says MPI_ERR_ARG; the standard has MPI_ERR_ASSERT and MPI_ERR_LOCKTYPE"
        for call in ("fence", "lock", "lock_all", "post", "start")
        for argument in ("assert_", "lock_type")
    },
    ("MPI_File_set_errhandler", "file"): "MPICH says MPI_ERR_ARG, and MPI_ERR_FILE in all other calls of files",
    **{
        ("MPI_Abi_set_fortran_booleans", f"logical_{value}"): "MPICH looks first whether they are set already"
        for value in ("true", "false")
    },
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("flavor", [MPICH], indirect=True, scope="module")
def test_mpich_answers_alike(flavor, prototypes, all_cases, source):
    mpicc = Path(sys.executable).with_name("mpicc")
    if not mpicc.exists() or not shutil.which("cc"):
        pytest.skip("the mpich package has no mpicc here, or there is no C compiler")
    binary = source.with_name("with_mpich")
    subprocess.run([mpicc, "-w", "-O0", "-I", str(C), str(source), "-o", str(binary)], check=True)
    done = subprocess.run(
        [binary, "return", "0"], capture_output=True, text=True, check=False, timeout=800, errors="replace"
    )
    found, others = answers(done.stdout), []
    compared = 0
    for number, case in enumerate(all_cases):
        answer = found.get(number, ("signal",))[0]
        if "freed_" in case.value:
            continue  # MPICH gives the number of a freed object to the next one
        vague = answer in ("SUCCESS", "OTHER", "BUFFER") and answer != case.refusal.error.name
        if vague or answer == "?" or answer.startswith(("signal", "exit")):
            continue  # MPICH does not look, gives no class of its own, or dies
        compared += 1
        expected = wrong_arguments.error_class(case, prototypes[case.function]).name
        known = {
            (case.function.removesuffix("_c"), case.refusal.argument),
            ("", case.refusal.argument),
        } & DIFFERENT.keys()
        if answer != expected and not known:
            others.append(f"{case.call}: {expected}, MPICH {answer}")
    assert not others, "\n".join(others[:40])
    assert compared > 1500
