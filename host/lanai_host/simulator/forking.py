"""One Python process, with what every rank imports, that forks into the ranks of a run: they share
the imports instead of repeating them.

The launcher starts it with the ranks' environment, sends it one message for each rank, and is told
how each ends. A forked rank begins as `python script.py`, `python -m module` or `python -c text`
does: same arguments, path, `__main__`, streams and exit codes. What cannot begin so is executed
instead, in the same process. Ranks are forked in order before anything else happens, so each lies
at the same addresses in every run.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from ..process_memory import memory_file
from .protocol import ENV_DEVICE, ENV_SOCKET

# what the interpreter is started with
BOOT = "import sys; del sys.path[0]; from lanai_host.simulator.forking import serve; serve()()"
ENV_CONTROL = "LANAI_CONTROL_FD"  # of the process that forks: its end of the socket to the launcher
FILES = 4  # that come with each rank: its socket to the simulator, standard input, output and error
MESSAGE = 1 << 16  # bytes, of a message without a file
PR_SET_PDEATHSIG = 1
PACKAGES = ("lanai_host.abi.functions",)
LIBRARIES = ("_cffi_backend", "lanai_host.abi.runtime")


@dataclass(frozen=True)
class Forked:
    """A rank to fork, as the launcher describes it. `arguments` are those of the interpreter."""

    arguments: Sequence[str]
    environment: dict[str, str]
    files: Sequence[int]


def may_fork(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether a rank of this interpreter with these arguments can be forked.

    It cannot if an option changes how Python starts, or if a variable concerns its start or would be read at an import
    that is already done.
    """
    if not arguments or any(
        environment.get(name) for name in ("PYTHONPROFILEIMPORTTIME", "PYTHONINSPECT", "COVERAGE_PROCESS_START")
    ):
        return False
    if arguments[0] in ("-c", "-m"):
        return len(arguments) > 1 and not (arguments[0] == "-c" and _counts_threads(arguments[1]))
    if arguments[0].startswith("-"):
        return False
    try:
        text = Path(arguments[0]).read_text(errors="replace")
    except (OSError, ValueError):
        return False  # Python says what is wrong with it
    return not _counts_threads(text) and "\0" not in text[:4096]


def _counts_threads(text: str) -> bool:
    """The program chooses how many threads numpy's libraries start, which they read when they are
    loaded."""
    return "NUM_THREADS" in text


def serve() -> Callable[[], None]:
    """Import, fork the ranks, and stay until all have ended. Returns in a rank, with what runs its
    program."""
    control = socket.socket(fileno=int(os.environ.pop(ENV_CONTROL)))
    control.set_inheritable(False)
    warm_up(os.environ[ENV_DEVICE])
    control.send(b"ready")
    return python_program(fork_ranks(control, share_pytest))


def share_pytest(arguments: Sequence[str]) -> None:
    """Import pytest once for all ranks, if it is what they run: that takes longer than most tests. In a rank,
    `hides` sees whether the program means another module of this name."""
    if arguments[:2] != ["-m", "pytest"]:
        return
    with contextlib.suppress(ImportError):
        for name in importlib.import_module("_pytest.config").default_plugins:
            importlib.import_module(f"_pytest.{name}")
        importlib.import_module("pytest")


def fork_ranks(control: socket.socket, prepare: Callable[[Sequence[str]], None] = lambda arguments: None) -> Forked:
    """Fork the ranks that the launcher asks for, and stay until all have ended. Returns in a rank, with
    what the launcher says of it. `prepare` is told the ranks' arguments before."""
    count = int(control.recv(16))
    ranks = [_receive(control) for _ in range(count)]
    prepare(ranks[0].arguments)
    gc.collect()
    gc.freeze()  # what all share stays shared
    forked: set[int] = set()
    for number, rank in enumerate(ranks):
        began, begun = os.pipe()
        pid = os.fork()
        if pid == 0:
            control.close()
            os.close(began)
            for other in ranks[number + 1 :]:
                _close(other.files)
            _become(rank, begun)
            return rank
        os.close(begun)
        os.read(began, 1)  # it leads a session of its own
        os.close(began)
        _close(rank.files)
        forked.add(pid)
        control.send(str(pid).encode())
    _await(control, forked)


def warm_up(device: str) -> None:
    """Import what a rank on `device` does."""
    stack = importlib.import_module(f"lanai_host.stacks.{device.replace('-', '_')}")
    for name in LIBRARIES:
        importlib.import_module(name)
    for package in (*map(importlib.import_module, PACKAGES), stack):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _receive(control: socket.socket) -> Forked:
    said, files = receive(control, FILES)
    return Forked(said["arguments"], {**said["environment"], ENV_SOCKET: str(files[0])}, files)


def send(control: socket.socket, message: object, files: Sequence[int]) -> None:
    """Send what JSON can hold, with open files. It comes as a file too: no datagram is as large as a process's
    arguments and environment may be."""
    text = memory_file("lanai-message")
    try:
        with open(text, "wb", closefd=False) as file:
            file.write(json.dumps(message).encode())
        socket.send_fds(control, [b"x"], [text, *files])
    finally:
        os.close(text)


def receive(control: socket.socket, files: int) -> tuple[Any, list[int]]:
    """Return what was sent with so many files, and these; None without files if the other side has ended."""
    _, found, _, _ = socket.recv_fds(control, 1, 1 + files)
    if not found:
        return None, []
    with open(found[0], "rb") as file:
        file.seek(0)
        return json.load(file), found[1:]


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


def _await(control: socket.socket, forked: set[int]) -> NoReturn:
    """Tell how each rank ends; end with the last one, or with the launcher, which kills this process."""
    while forked:
        pid, status = os.wait()
        if pid in forked:  # else a library of the program has started it
            forked.remove(pid)
            control.send(f"{pid} {os.waitstatus_to_exitcode(status)}".encode())
    os._exit(0)


def _become(rank: Forked, begun: int) -> None:
    """This process is the rank from now on."""
    try:
        os.setsid()
    except OSError:  # refused in some containers; the launcher finds the process by its group too
        os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.write(begun, b"x")
    os.close(begun)
    for number, file in enumerate(rank.files[1:]):
        os.dup2(file, number)
        os.close(file)
    os.set_inheritable(rank.files[0], True)
    os.environ.update(rank.environment)
    if (random := sys.modules.get("numpy.random")) is not None:
        random.seed()  # from the system, as in a process of its own


def python_program(rank: Forked) -> Callable[[], None]:
    """Return a function that runs the program of a rank in Python."""
    if hides(_first_path(rank.arguments), sys.modules):
        os.execv(sys.executable, [sys.executable, *rank.arguments])
    return lambda: _run(list(rank.arguments))


def _first_path(arguments: Sequence[str]) -> str:
    """Return the folder in which Python looks for modules first."""
    return _here() if arguments[0] in ("-c", "-m") else os.path.dirname(os.path.realpath(arguments[0]))


def _here() -> str:
    """Return the working directory, or nothing if it was removed: a program named by its whole path runs there too."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def hides(directory: str, loaded: dict[str, Any]) -> bool:
    """Return whether the directory has a module of its own with the name of one that is loaded already."""
    tops = {name.partition(".")[0] for name in loaded} - {"__main__"}
    try:
        names = {name.partition(".")[0] for name in os.listdir(directory) if not name.startswith(".")}
    except OSError:
        return False
    found = names & tops
    return any(_is_module(os.path.join(directory, name)) and not _is_ours(directory, name, loaded) for name in found)


def _is_module(path: str) -> bool:
    folder, name = os.path.split(path)
    if os.path.exists(os.path.join(path, "__init__.py")):  # another folder comes after all modules
        return True
    return any(file.startswith(f"{name}.") and file.endswith((".py", ".so", ".pyc")) for file in os.listdir(folder))


def _is_ours(directory: str, name: str, loaded: dict[str, Any]) -> bool:
    """Return whether the module that is loaded under this name came from this very directory."""
    file = getattr(loaded.get(name), "__file__", None)
    return file is not None and os.path.realpath(file).startswith(os.path.realpath(directory) + os.sep)


def _run(arguments: list[str]) -> None:
    """The program, as Python's own start runs it."""
    _renew_main()
    sys.orig_argv[1:] = arguments
    safe = sys.flags.safe_path
    api = ctypes.pythonapi
    if arguments[0] == "-m":
        sys.argv[:] = ["-m", *arguments[2:]]
        if not safe:
            sys.path.insert(0, _here())
        _run_module(arguments[1])
        return
    if arguments[0] == "-c":
        sys.argv[:] = ["-c", *arguments[2:]]
        if not safe:
            sys.path.insert(0, "")
        failed = api.PyRun_SimpleStringFlags(arguments[1].encode(), None)
    else:
        sys.argv[:] = arguments
        if not safe:
            sys.path.insert(0, _first_path(arguments))
        path = os.path.join(_here(), arguments[0])
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        file = ctypes.c_void_p(libc.fopen(os.fsencode(path), b"rb"))
        failed = api.PyRun_SimpleFileExFlags(file, os.fsencode(path), 1, None)
    if failed:
        sys.exit(1)


def _renew_main() -> None:
    """Give the program a `__main__` of its own. The one from before the fork is frozen: at the program's end Python
    would not collect what the program's functions refer to, so files would not be flushed and finalizers not be called.
    """
    begun = sys.modules["__main__"]
    sys.modules["__main__"] = main = ModuleType("__main__")
    vars(main).update((name, value) for name, value in vars(begun).items() if name.startswith("__"))
    main.__annotations__ = {}


def _run_module(name: str) -> None:
    try:
        runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # what `python -m` calls
    except SystemExit:
        raise
    except BaseException as error:
        trace = _below(error.__traceback__)
        # As Python's own start sets them.
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error.with_traceback(trace), trace
        sys.excepthook(type(error), error, trace)
        sys.exit(128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1)


def _below(trace: TracebackType | None) -> TracebackType | None:
    """Without this file's own frames."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


# Ranks of a compiled program, forked from one process of this program in which Python and the MPI library are up.
#
# The launcher starts the program once. The front of the MPI library calls `serve` before `main`, in the process's
# constructors: it forks the ranks, and each of them goes on to `main` as if it had just been executed. The program
# itself needs no part in that.


ENV_PROGRAM = "LANAI_PROGRAM_FD"  # of the process that forks: its end of the socket to the launcher; read by front.c
REFUSED = 3  # an exit code


def serve_program() -> None:
    """Fork the ranks, and stay until all have ended. Returns in a rank."""
    control = socket.socket(fileno=int(os.environ.pop(ENV_PROGRAM)))
    control.set_inheritable(False)
    if len(os.listdir("/proc/self/task")) > 1:
        os._exit(REFUSED)  # a library has threads, which a fork would lose: each rank is executed
    warm_up(os.environ[ENV_DEVICE])
    importlib.import_module("lanai_host.abi.symbols").names_sessions()  # searches files, and remembers the answer
    control.send(b"ready")
    fork_ranks(control)
