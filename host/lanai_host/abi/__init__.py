"""The MPI library as a C library: `libmpi.so.12`, the MPICH ABI, and `libmpi_abi.so.1`, the standard ABI of MPI 5.

`library_directory()` builds it if need be and says where it is. Programs load it as they would any MPI: by MPI4PY_LIBMPI or
LD_LIBRARY_PATH, which `lanai run` sets.
"""

from .library import library_directory

__all__ = ["library_directory"]
