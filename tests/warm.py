"""`lanai` from a process that has imported it: a test that is not about its start need not wait for
it.

`lanai(...)` is `subprocess.run([sys.executable, "-m", "lanai_sim", ...])`, forked from one process
that each worker of pytest starts once. Starting `lanai run` is half of what a short job costs.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = (
    "lanai_sim.cli",
    "lanai_sim.commands.run",
    "lanai_sim.job.launcher",
    "lanai_sim.job.nic_world",
    "lanai_sim.engines.rtl",
    "lanai_host.stacks.mpi_np.stack",
)
AT_IMPORT = "LANAI_PATH"  # is read when packages are imported
MESSAGE = 1 << 20  # bytes


def lanai(*arguments, timeout):
    """The command's exit code and output, as text; subprocess.TimeoutExpired after so many seconds."""
    command = [sys.executable, "-m", "lanai_sim", *map(str, arguments)]
    if AT_IMPORT in os.environ:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        code = _server().run(command[3:], output, errors, timeout)
        if code is None:
            raise subprocess.TimeoutExpired(command, timeout, _text(output), _text(errors))
        return subprocess.CompletedProcess(command, code, _text(output), _text(errors))


def _text(file):
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


class _Server:
    """The process that forks."""

    def __init__(self):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
        atexit.register(self.close)

    def run(self, arguments, output, errors, timeout):
        """The exit code, or None if the time was over."""
        request = {"arguments": arguments, "environment": dict(os.environ), "directory": os.getcwd()}
        socket.send_fds(self.control, [json.dumps(request).encode()], [output.fileno(), errors.fileno()])
        process = self._answer()
        if not select.select([self.control], [], [], timeout)[0]:
            os.kill(process, signal.SIGKILL)
            self._answer()
            return None
        return self._answer()

    def _answer(self):
        answer = self.control.recv(MESSAGE)
        if not answer:
            raise RuntimeError(f"the process that forks `lanai` has ended with exit code {self.process.wait()}")
        return int(answer)

    def close(self):
        self.control.close()
        self.process.wait()


@functools.cache
def _server():
    return _Server()


def serve(control):
    """Fork a command for each request and tell its process, then its exit code. Gives, in the
    command's process, the arguments; None at the end."""
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        message, files, _, _ = socket.recv_fds(control, MESSAGE, 2)
        if not message:
            return None
        process = os.fork()
        if process == 0:
            control.close()
            return _begin(json.loads(message), files)
        for file in files:
            os.close(file)
        control.send(str(process).encode())
        control.send(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())


def _begin(request, files):
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = request["directory"]  # as `python -m` has it
    sys.argv[1:] = request["arguments"]
    return request["arguments"]


if __name__ == "__main__":
    sys.argv[0] = str(Path(importlib.import_module("lanai_sim").__file__).with_name("__main__.py"))
    found = serve(socket.socket(fileno=int(sys.argv.pop())))
    sys.exit(0 if found is None else importlib.import_module("lanai_sim.cli").main(found))
