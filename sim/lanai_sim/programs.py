"""The installed programs. From its start each ends with one line at Ctrl-C, while its command is loaded too."""

import signal

from .signals import CODE, end_at_once


def lanai() -> int:
    return _run("lanai", "main")


def mpiexec() -> int:
    return _run("mpiexec", "mpiexec")


def mpicc() -> int:
    return _run("lanai", "mpicc")


def mpicxx() -> int:
    return _run("lanai", "mpicxx")


def mpifort() -> int:
    return _run("lanai", "mpifort")


def _run(name: str, function: str) -> int:
    """Call a function of `lanai_sim.cli`; its exit code. `name` is what the interrupted program calls itself."""
    end_at_once(name)
    from . import cli

    code = int(getattr(cli, function)())
    if code == CODE:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C again, while Python ends, would change the exit code
    return code
