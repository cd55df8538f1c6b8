"""The C++ library that zig links into a model. Zig compiles it at its first link on a machine, which
takes a minute of one processor. This module has it compiled while the gateware is elaborated and
the model is compiled.
"""

import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_host.compilers import Compiler, guarded

KIND = "linked"  # of the cache's entries that say that a compiler has its library
STEP = "compiling the C++ library"
SOURCE = "int lanai_nothing;\n"
# `-s` leaves out debug information, which zig would compile into its library: three quarters of
# the file, whose digest each run computes.
LINK = ("-shared", "-s", "-Wl,-Bsymbolic", "-pthread")


def unchecked(tool: Compiler) -> list[str]:
    """Without this option zig adds checks for undefined behavior to objects, and its first link
    compiles the library that these checks call. Compiling and linking both need the option."""
    return ["-fno-sanitize=undefined"] if tool.is_zig else []


def linking(tool: Compiler) -> list[str]:
    """The options of `tool` that link a shared library."""
    return [*unchecked(tool), *LINK]


class CxxLibrary:
    """The library of `tool`, as a context: what still runs at its end is killed.

    `begin` links an empty library in a process of its own, unless the compiler brings its library
    or the cache knows that it has been compiled. A failure is not reported: the link of the model
    fails in the same way.
    """

    def __init__(self, tool: Compiler) -> None:
        self._tool = tool
        self._key = entries.key_of([repr((tool.key, unchecked(tool), LINK))])
        self._process: subprocess.Popen[bytes] | None = None
        self._work: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "CxxLibrary":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._work is not None:
            self._work.cleanup()

    @property
    def needed(self) -> bool:
        """The compiler has a library to compile, and the cache does not know that it has."""
        return self._tool.is_zig and entries.present(KIND, self._key) is None

    def begin(self) -> None:
        """Start the compilation. The second call does nothing."""
        if self._process is not None or not self.needed:
            return
        self._work = tempfile.TemporaryDirectory(prefix="lanai-library-")
        source = Path(self._work.name, "nothing.cc")
        source.write_text(SOURCE)
        self._process = subprocess.Popen(
            [*self._tool.command, *linking(self._tool), "-fPIC", "-o", f"{self._work.name}/nothing.so", str(source)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=guarded(),
        )  # fmt: skip

    def wait(self) -> None:
        """Wait for the end of what `begin` started."""
        if self._process is None:
            return
        building.step(STEP)
        if self._process.wait() == 0:
            entries.build(self._key, KIND, bytes)
