"""Says which part of a simulation has ended without a word, such as one that was killed. A process of its own watches
the parts of one machine: mpiexec kills the others at once, so that none of them can tell."""

import atexit
import contextlib
import os
import selectors
import socket
import struct
import subprocess
import sys
from pathlib import Path

ENDS, SAYS = b"e", b"s"  # of a part: it ends as it should; it would say why the run is over
YES = b"y"  # to the first part that would
PATIENCE = 60.0  # seconds for that answer, on a busy machine; without one a part says why, as another one may
_NUMBER = struct.Struct("<I")
_CREDENTIALS = struct.Struct("iII")  # of SO_PEERCRED: process, user, group


class Watched:
    """A part's connection to the watcher. It is open as long as the part's process lives."""

    def __init__(self, number: int, address: bytes) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._joined = False
        with contextlib.suppress(OSError):  # the first part is on another machine, which watches its own parts
            self._socket.connect(address)
            self._socket.sendall(_NUMBER.pack(number))
            self._joined = True
            atexit.register(self._tell, ENDS)

    @property
    def descriptor(self) -> int:
        """Return that of the connection; -1 if there is none."""
        return self._socket.fileno() if self._joined else -1

    def may_say_why(self) -> bool:
        """Return whether this part is to tell the user why the run is over: no other one of this machine does. The
        watcher says nothing any more."""
        if not self._joined:
            return True
        try:
            self._socket.settimeout(PATIENCE)
            self._socket.sendall(SAYS)
            return self._socket.recv(1) == YES
        except TimeoutError:
            return True
        except OSError:
            return False

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendall(word)


def start(parts: int) -> bytes:
    """Start the watcher of so many parts. Return its address."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("")  # the system chooses an address, which is not a file
        listening.listen(parts)
        subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__)), str(listening.fileno()), str(parts)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            start_new_session=True,  # mpiexec kills the sessions of its processes
        )
        address: bytes = listening.getsockname()
        return address


def watch(listening: socket.socket, parts: int) -> str:
    """Wait until all parts have ended. Return what there is to say: nothing, if all ended as they should."""
    numbers: dict[socket.socket, int | None] = {}  # None until the part says it
    came = False
    with contextlib.ExitStack() as opened:
        selector = opened.enter_context(selectors.DefaultSelector())
        selector.register(opened.enter_context(listening), selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():  # the part that ended first comes first: mpiexec kills the others then
                part = key.fileobj
                assert isinstance(part, socket.socket)
                if part is listening:
                    part = opened.enter_context(listening.accept()[0])
                    if _user_of(part) == os.geteuid():  # the address has no permissions: anybody may connect
                        selector.register(part, selectors.EVENT_READ)
                        numbers[part], came = None, True
                    else:
                        part.close()
                    continue
                if numbers[part] is None:
                    text = _said(part, _NUMBER.size)
                    if len(text) == _NUMBER.size:
                        numbers[part] = _NUMBER.unpack(text)[0]
                    else:  # it was ended in this moment, or is none
                        selector.unregister(part)
                        del numbers[part]
                    continue
                selector.unregister(part)
                lost, word = numbers.pop(part), _said(part, 1)
                if word == SAYS:
                    with contextlib.suppress(OSError):
                        part.sendall(YES)
                    return ""
                if word != ENDS:
                    return f"lanai: error: part {lost} of {parts} was killed or has crashed; the run has ended\n"
            if came and not numbers:
                return ""


def _user_of(part: socket.socket) -> int:
    text = part.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(text)[1]
    return user


def _said(part: socket.socket, size: int) -> bytes:
    try:
        return part.recv(size)
    except ConnectionResetError:
        return b""


if __name__ == "__main__":
    descriptor, count = map(int, sys.argv[1:])
    sys.stderr.write(watch(socket.socket(fileno=descriptor), count))
