"""mpi4py's own demos, those that need no other package and no network.

Each runs in a copy of its directory, as the makefile or script beside it has it. Lines with times are
left out of what is compared; so are names of processors.
"""

import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from .programs import Program

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
LEFT_OUT = {
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
