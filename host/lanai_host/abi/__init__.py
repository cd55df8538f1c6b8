"""The MPI library as a C library: `libmpi.so.12`, the MPICH ABI, and `libmpi_abi.so.1`, the
standard ABI of MPI 5.

`library_directory()` builds it if need be and says where it is. Programs load it as they would any
MPI: by MPI4PY_LIBMPI or LD_LIBRARY_PATH, which `lanai run` sets.
"""

from pathlib import Path

__all__ = ["library_directory"]


def library_directory(flavor: str = "mpich") -> Path:
    """See `library`, which a rank does not load: it runs in a library that is there."""
    from . import library

    return library.library_directory(flavor)
