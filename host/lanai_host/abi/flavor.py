"""The two C ABIs that the library speaks, and how C types cross into Python.

Under both, a handle reaches Python as an int and `void *` as an address. What differs (values of
constants, size of a handle, fields of the status) is read from the header that declares the ABI.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .header import Function, Parameter

# Beside a built library: the module that enters Python, and what the bindings need to know of the
# header.
BRIDGE = "_lanai_bridge"
INTERFACE = "interface.json"
# What the front starts Python with: the interpreter, its libpython, and a text to run, each ended by a zero byte.
START = "start"

HANDLES = frozenset(
    f"MPI_{name}"
    for name in [
        "Comm",
        "Datatype",
        "Group",
        "Op",
        "Errhandler",
        "Request",
        "Message",
        "Info",
        "Win",
        "File",
        "Session",
    ]
)
# Integer types that mpi.h defines for this machine, and their plain C types.
SCALARS = {
    "int": "int",
    "double": "double",
    "MPI_Aint": "intptr_t",
    "MPI_Count": "long long",
    "MPI_Offset": "long long",
    "MPI_Fint": "int",
}


@dataclass(frozen=True)
class Flavor:
    """One ABI: `wide` says that handles are pointers rather than ints; `mpi4py` is mpi4py's name
    for it."""

    name: str
    header: str
    soname: str
    links: tuple[str, ...]
    wide: bool
    mpi4py: str

    def plain(self, parameter: "Parameter") -> str:
        """The C type with which an argument crosses into Python."""
        base, pointers = parameter.base, parameter.pointers
        value = self.handle(base) or SCALARS.get(base)
        if value is not None and pointers == 0:
            return value
        if value is not None and (pointers == 1 or (base, pointers) == ("int", 2)):
            return f"{value} *"  # int[][3] is passed as the ints that it is
        if pointers == 1 and base in ("char", "MPI_Status"):
            return "char *" if base == "char" else "lanai_status *"
        return "intptr_t"

    def handle(self, base: str) -> str | None:
        """The C type of a handle's value; None for what is not a handle."""
        if base not in HANDLES:
            return None
        return "intptr_t" if self.wide or base == "MPI_File" else "int"

    def plain_result(self, function: "Function") -> str:
        returns = function.returns
        if returns == "void":
            return returns
        return self.handle(returns) or SCALARS.get(returns, "intptr_t")


MPICH = Flavor(
    "mpich", "mpi.h", "libmpi.so.12", ("libmpi.so", "libmpich.so.12", "libmpich.so"), wide=False, mpi4py="mpich"
)
STANDARD = Flavor("abi", "mpi_abi.h", "libmpi_abi.so.1", ("libmpi_abi.so",), wide=True, mpi4py="mpiabi")
FLAVORS = {flavor.name: flavor for flavor in (MPICH, STANDARD)}
