"""The MPI library as a C library: `libmpi.so.12`, the MPICH ABI. (`libmpi_abi.so.1`, the standard one, is not ready yet.)

`library_directory()` builds it if need be and says where it is. Programs load it as they would any MPI: by MPI4PY_LIBMPI or
LD_LIBRARY_PATH, which `lanai run` sets.
"""

from .library import library_directory

__all__ = ["library_directory"]
