"""The C compiler that builds the library: the system's, else the one that comes with the `ziglang` package."""

import errno
import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from ..errors import UserError


@functools.cache
def command() -> tuple[str, ...]:
    """$CC, else cc, gcc or clang, else zig."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise UserError(f"CC={chosen[0]!r} is not a program; unset CC or name a C compiler")
        return tuple(chosen)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise UserError(
        "no C compiler (cc, gcc, clang, ziglang) was found, and libmpi.so has to be built once; "
        "`pip install ziglang` brings one"
    )


def bind_own_functions() -> str:
    """The linker option by which a library's calls of its own functions stay inside it. Zig's front knows the wider one only."""
    return "-Wl,-Bsymbolic" if "ziglang" in command() else "-Wl,-Bsymbolic-functions"


def run(arguments: Sequence[str], what: str, text: str = "") -> str:
    """Run the compiler with `text` as its input; what it printed. `what` says in the error message what it was for."""
    done = subprocess.run([*command(), *arguments], input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        if "No space left" in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        last = "\n".join(done.stderr.strip().splitlines()[-20:])
        raise UserError(f"{what} failed with {' '.join(command())}:\n{last}")
    return done.stdout
