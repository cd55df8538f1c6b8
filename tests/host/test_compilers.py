"""The one search for compilers."""

import shutil
import subprocess
import sys

import pytest

from lanai_host import compilers
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    for language in Language:
        monkeypatch.delenv(language.value.variable, raising=False)


@pytest.mark.parametrize("language", Language)
def test_the_environments_compiler_comes_first(language, tmp_path, monkeypatch):
    program = tmp_path / "own compiler"
    program.write_text("#!/bin/sh\necho own compiler 1.0\n")
    program.chmod(0o755)
    monkeypatch.setenv(language.value.variable, f"'{program}' -g")
    found = find(language)
    assert found.command == (str(program), "-g")
    assert found.identity == "own compiler 1.0"


@pytest.mark.parametrize(
    "setting", ["lanai mpicc", "/usr/bin/mpicc", "ccache mpicxx", "python -m lanai_sim mpicc", "lanai-mpicxx -g"]
)
@pytest.mark.parametrize("language", [Language.C, Language.CXX])
def test_a_wrapper_in_the_environment_is_passed_over(setting, language, monkeypatch):
    usual = find(language)
    monkeypatch.setenv(language.value.variable, setting)
    assert find(language) == usual
    with pytest.raises(UserError, match="is an MPI wrapper, which would run itself"):
        find(language, setting)


@pytest.mark.parametrize("language", Language)
def test_a_setting_that_is_no_program_is_quoted(language, monkeypatch):
    variable = language.value.variable
    monkeypatch.setenv(variable, "no-such-compiler -O2")
    with pytest.raises(
        UserError, match=rf"^{variable}='no-such-compiler -O2' is not a program; unset {variable} or name"
    ):
        find(language)
    monkeypatch.setenv(variable, "cc 'open")
    with pytest.raises(UserError, match=rf"^{variable}=.* is not a command: No closing quotation"):
        find(language)


@pytest.mark.parametrize(("language", "remedy"), [(Language.C, r"openlanai\[compiler\]"), (Language.CXX,
r"openlanai\[compiler\]"),
                                                  (Language.FORTRAN, "apt install gfortran")])  # fmt: skip
def test_without_a_compiler_the_remedy_is_named(language, remedy, monkeypatch):
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=remedy):
        find(language)


@pytest.mark.parametrize(("language", "name"), [(Language.C, "cc"), (Language.CXX, "c++")])
def test_zig_serves_where_no_compiler_is_installed(language, name, monkeypatch):
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: name == "ziglang")
    found = find(language)
    assert found.command[1:] == ("-m", "ziglang", name)
    assert found.is_zig
    assert compilers.bind_own_functions(found) == "-Wl,-Bsymbolic"


def test_a_compiler_that_is_there_and_cannot_work_fails_its_trial(tmp_path, monkeypatch):
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho cannot execute cc1 >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("CC", str(program))
    with pytest.raises(UserError, match=r"(?s)compiling a C program failed with .*broken.*cannot execute cc1"):
        compilers.trial(Language.C)
    if shutil.which("g++"):
        assert compilers.trial(Language.CXX).command


def test_zig_compiles_for_all_processors_of_its_kind(tmp_path, monkeypatch):
    """It would compile for the processor that it runs on, and machines may share a cache."""
    calls = []
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(compilers.subprocess, "run", lambda command, **_: calls.append(command) or done)
    for command in ((sys.executable, "-m", "ziglang", "c++"), ("g++",)):
        compilers.Compiler(command, "1.2.3").run(["-c"], "compiling")
    assert calls == [[sys.executable, "-m", "ziglang", "c++", "-mcpu=baseline", "-c"], ["g++", "-c"]]


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("fpu abm avx avx2 bmi1 bmi2 f16c fma movbe xsave sse4_2", "x86-64-v3"),
        ("fpu abm avx bmi1 bmi2 f16c fma movbe xsave", "flags\t: fpu abm avx bmi1 bmi2 f16c fma movbe xsave\n"),
    ],
)
def test_models_are_for_a_level_or_for_one_processor(flags, level, monkeypatch):
    monkeypatch.setattr(compilers, "processor", lambda: f"flags\t: {flags}\n")
    assert compilers.level.__wrapped__() == level


def test_the_processor_is_known_and_stays_the_same():
    first = compilers.processor()
    compilers.processor.cache_clear()
    assert first == compilers.processor()
    assert "flags" in first or "Features" in first
    assert "MHz" not in first
