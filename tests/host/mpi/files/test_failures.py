"""Failures of files, and the error class of each: those of MPICH, where the standard does not say otherwise."""

import errno
import os
import resource
import sys

import numpy as np
import pytest

from lanai_host.config import HostConfig, HostCost
from lanai_host.mpi import ErrorClass, Info, MpiError, datatypes
from lanai_host.mpi.files import disk, state
from lanai_host.mpi.files import state as opening
from lanai_host.mpi.files.disk import DISPLACEMENT_CURRENT, Mode, Whence

from ..ranks import run as run_ranks
from .opened import CREATE, opened, run, view

INT = datatypes.PREDEFINED["MPI_INT"]
FOUR = np.zeros(4, np.int32)


def refused(size, call):
    """The error classes and texts of `call(world)` at each rank."""

    def program(world):
        with pytest.raises(MpiError) as caught:
            call(world)
        return caught.value.error_class.name, caught.value.text

    return run_ranks(size, program)


OPENINGS = [
    ("missing", Mode.RDONLY, "NO_SUCH_FILE"),
    ("there", CREATE | Mode.EXCL, "FILE_EXISTS"),
    ("directory", Mode.RDONLY, "BAD_FILE"),
    ("directory", Mode.RDWR, "BAD_FILE"),
    ("there/below", CREATE, "BAD_FILE"),
    ("x" * 300, CREATE, "BAD_FILE"),
    ("there", 0, "AMODE"),
    ("there", Mode.RDONLY | Mode.WRONLY, "AMODE"),
    ("there", Mode.RDONLY | Mode.CREATE, "AMODE"),
    ("there", Mode.RDONLY | Mode.EXCL, "AMODE"),
    ("there", Mode.RDWR | Mode.SEQUENTIAL, "AMODE"),
    ("there", Mode.RDWR | 0x10000, "AMODE"),
]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(("name", "mode", "error"), OPENINGS)
def test_a_file_that_cannot_be_opened_is_an_error_of_all(tmp_path, size, name, mode, error):
    (tmp_path / "there").touch()
    (tmp_path / "directory").mkdir()
    path = tmp_path / name
    found = refused(size, lambda world: opened(world, path, mode))
    assert {one for one, _ in found} == {error}
    assert all(
        "MPI_File_open" in text and (str(int(mode)) if error == "AMODE" else str(path)) in text for _, text in found
    )


KERNEL = {
    errno.EACCES: "ACCESS",
    errno.EPERM: "ACCESS",
    errno.EROFS: "READ_ONLY",
    errno.EDQUOT: "QUOTA",
    errno.ETXTBSY: "FILE_IN_USE",
    errno.ENOSPC: "NO_SPACE",
    errno.EMFILE: "IO",
}


@pytest.mark.parametrize("number", KERNEL)
def test_what_the_kernel_refuses_has_the_class_that_mpi_names(tmp_path, monkeypatch, number):
    def refuse(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk.os, "open", refuse)
    found = refused(2, lambda world: opened(world, tmp_path / "file"))
    assert [one for one, _ in found] == [KERNEL[number]] * 2
    assert all(os.strerror(number) in text for _, text in found)


def test_processes_must_agree_on_the_mode(tmp_path):
    (tmp_path / "file").touch()
    modes = [Mode.RDONLY, Mode.RDWR]
    found = refused(2, lambda world: opened(world, tmp_path / "file", modes[world.rank]))
    assert [one for one, _ in found] == ["NOT_SAME"] * 2
    assert "amode is 2 here" in found[0][1]


WRONG = [
    (Mode.RDONLY, lambda file: run("write", file, FOUR), "READ_ONLY"),
    (Mode.RDONLY, lambda file: run("write_at_all", file, FOUR), "READ_ONLY"),
    (Mode.RDONLY, lambda file: run("write_shared", file, FOUR), "READ_ONLY"),
    (Mode.RDONLY, lambda file: state.set_size(file, 4), "READ_ONLY"),
    (Mode.RDONLY, lambda file: state.preallocate(file, 4), "READ_ONLY"),
    (Mode.RDONLY, state.sync, "READ_ONLY"),
    (Mode.WRONLY, lambda file: run("read", file, FOUR), "ACCESS"),
    (Mode.WRONLY, lambda file: run("read_ordered", file, FOUR), "ACCESS"),
    (Mode.RDWR, lambda file: run("read_at", file, FOUR, -1), "ARG"),
    (Mode.RDWR, lambda file: state.set_size(file, -1), "ARG"),
    (Mode.RDWR, lambda file: state.seek(file, -1, Whence.SET), "ARG"),
    (Mode.RDWR, lambda file: state.seek(file, -1, Whence.END), "ARG"),
    (Mode.RDWR, lambda file: state.seek(file, 0, 77), "ARG"),
    (Mode.RDWR, lambda file: state.seek_shared(file, -1, Whence.CUR), "ARG"),
    (Mode.RDWR, lambda file: state.get_byte_offset(file, -1), "ARG"),
    (Mode.RDWR, lambda file: view(file, INT, disp=-4), "ARG"),
    (Mode.RDWR, lambda file: view(file, INT, disp=DISPLACEMENT_CURRENT), "ARG"),
    (Mode.RDWR, lambda file: view(file, INT, datarep="mine"), "UNSUPPORTED_DATAREP"),
    (Mode.RDONLY | Mode.SEQUENTIAL, lambda file: run("read", file, FOUR), "UNSUPPORTED_OPERATION"),
    (Mode.RDONLY | Mode.SEQUENTIAL, lambda file: run("read_at_all", file, FOUR), "UNSUPPORTED_OPERATION"),
    (Mode.RDONLY | Mode.SEQUENTIAL, lambda file: state.seek_shared(file, 0, Whence.SET), "UNSUPPORTED_OPERATION"),
    (Mode.RDONLY | Mode.SEQUENTIAL, lambda file: view(file, INT), "ARG"),
]


@pytest.mark.parametrize(("mode", "call", "error"), WRONG)
def test_what_the_file_or_its_mode_does_not_allow(tmp_path, mode, call, error):
    (tmp_path / "file").touch()

    def program(world):
        file = opened(world, tmp_path / "file", mode)
        with pytest.raises(MpiError) as caught:
            call(file)
        opening.close(file)
        return caught.value.error_class.name

    assert run_ranks(2, program) == [error] * 2


def test_part_of_an_etype_is_refused(tmp_path):
    def program(world):
        file = opened(world, tmp_path / "file")
        view(file, INT)
        with pytest.raises(MpiError, match="not a whole number of etypes of 4 bytes") as caught:
            run("write", file, np.zeros(3, np.uint8))
        opening.close(file)
        return caught.value.error_class

    assert run_ranks(1, program) == [ErrorClass.IO]


@pytest.mark.parametrize("name", ["write_at", "write_at_all", "write_ordered"])
def test_a_full_disk(name):
    def program(world):
        file = opened(world, "/dev/full", Mode.WRONLY)
        with pytest.raises(MpiError, match="'/dev/full': No space left on device") as caught:
            run(name, file, FOUR)
        opening.close(file)
        return caught.value.error_class

    assert run_ranks(2, program) == [ErrorClass.NO_SPACE] * 2


def test_one_process_that_cannot_write_fails_the_collective_call_of_all(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a module first needed here would be kept in part
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:

        def program(world):
            file = opened(world, tmp_path / "file")
            with pytest.raises(MpiError, match="File too large") as caught:
                run("write_at_all", file, np.zeros(1024, np.int32), world.rank * 4096)
            opening.close(file)
            return caught.value.error_class

        assert run_ranks(3, program) == [ErrorClass.IO] * 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_closing_deletes_where_the_mode_says_so(tmp_path):
    path = tmp_path / "file"

    def program(world):
        file = opened(world, path, CREATE | Mode.DELETE_ON_CLOSE)
        there = path.exists()
        opening.close(file)
        return there, path.exists() if world.rank == 0 else False

    assert run_ranks(2, program) == [(True, False)] * 2
    found = refused(1, lambda world: opening.delete(world.comm_self, str(path), None))
    assert found[0][0] == "NO_SUCH_FILE"


def test_sizes_and_append(tmp_path):
    path = tmp_path / "file"

    def program(world):
        file = opened(world, path)
        state.preallocate(file, 100)
        state.preallocate(file, 10)
        sizes = [state.get_size(file)]
        state.set_size(file, 12)
        sizes.append(state.get_size(file))
        opening.close(file)
        file = opened(world, f"ufs:{path}", Mode.RDWR | Mode.APPEND)
        at = state.get_position(file), state.get_position_shared(file)
        opening.close(file)
        return sizes, at

    assert run_ranks(2, program) == [([100, 12], (12, 12))] * 2


def test_hints_that_mean_nothing_are_ignored_and_those_in_use_are_told(tmp_path):
    def program(world):
        given = Info([("cb_nodes", "99"), ("cb_buffer_size", "many"), ("romio_cb_read", "perhaps"), ("striping", "4")])
        file = opened(world, tmp_path / "file", info=given)
        found = file.hints.info().pairs()
        opening.close(file)
        return found

    assert run_ranks(2, program)[0] == [
        ("cb_buffer_size", "16777216"),
        ("cb_nodes", "2"),
        ("romio_cb_read", "automatic"),
        ("romio_cb_write", "automatic"),
    ]


def test_time_is_charged_by_calls_and_bytes(tmp_path):
    host = HostConfig()

    def program(world):
        file = opened(world, tmp_path / "file")
        begin = world.process.device.now()
        run("write_at", file, np.zeros(1000, np.uint8))
        elapsed = world.process.device.now() - begin
        opening.close(file)
        return elapsed

    wanted = host.price(HostCost.CALL) + host.price(HostCost.FILE_CALL) + host.price(HostCost.FILE_BYTE, 1000)
    assert run_ranks(1, program) == [wanted]
