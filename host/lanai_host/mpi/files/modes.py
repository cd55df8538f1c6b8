"""The modes in which a file is opened, and the origins of a pointer's moves: MPICH's numbers, as everywhere inside
the library."""

import enum
from typing import Final

from ..errors import ErrorClass, MpiError

DISPLACEMENT_CURRENT: Final = -54278278  # MPI_DISPLACEMENT_CURRENT


class Mode(enum.IntFlag):
    """The bits of `amode`."""

    CREATE = 1
    RDONLY = 2
    WRONLY = 4
    RDWR = 8
    DELETE_ON_CLOSE = 16
    UNIQUE_OPEN = 32
    EXCL = 64
    APPEND = 128
    SEQUENTIAL = 256


class Whence(enum.IntEnum):
    """The position that an offset is relative to."""

    SET = 600
    CUR = 602
    END = 604


_ACCESS = (Mode.RDONLY, Mode.WRONLY, Mode.RDWR)


def check_mode(amode: int) -> Mode:
    """The bits of an `amode` that MPI_File_open takes."""
    mode = Mode(amode & sum(Mode))
    if amode < 0 or amode != mode:
        raise _refused(amode, "it has bits that no MPI_MODE_ constant has")
    if sum(one in mode for one in _ACCESS) != 1:
        raise _refused(amode, "it must have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR")
    if Mode.RDONLY in mode and (Mode.CREATE in mode or Mode.EXCL in mode):
        raise _refused(amode, "MPI_MODE_RDONLY excludes MPI_MODE_CREATE and MPI_MODE_EXCL")
    if Mode.RDWR in mode and Mode.SEQUENTIAL in mode:
        raise _refused(amode, "MPI_MODE_RDWR excludes MPI_MODE_SEQUENTIAL")
    return mode


def _refused(amode: int, why: str) -> MpiError:
    return MpiError(ErrorClass.AMODE, f"MPI_File_open: amode is {amode}; {why}")
