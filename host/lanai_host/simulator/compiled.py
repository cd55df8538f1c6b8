"""Ranks of a compiled program, forked from one process of this program in which Python and the MPI library
are up.

The launcher starts the program once. The front of the MPI library calls `serve` before `main`, in the
process's constructors: it forks the ranks, and each of them goes on to `main` as if it had just been
executed. The program itself needs no part in that.
"""

import importlib
import os
import socket

from .forking import fork_ranks, warm_up
from .protocol import ENV_DEVICE

ENV_PROGRAM = "LANAI_PROGRAM_FD"  # of the process that forks: its end of the socket to the launcher; read by front.c
REFUSED = 3  # an exit code


def serve() -> None:
    """Fork the ranks, and stay until all have ended. Returns in a rank."""
    control = socket.socket(fileno=int(os.environ.pop(ENV_PROGRAM)))
    control.set_inheritable(False)
    if len(os.listdir("/proc/self/task")) > 1:
        os._exit(REFUSED)  # a library has threads, which a fork would lose: each rank is executed
    warm_up(os.environ[ENV_DEVICE])
    importlib.import_module("lanai_host.abi.symbols").names_sessions()  # searches files, and remembers the answer
    control.send(b"ready")
    fork_ranks(control)
