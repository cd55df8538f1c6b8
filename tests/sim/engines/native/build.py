"""Programs of C++ that include files of the native engine."""

import subprocess

from lanai_host.compilers import Language, find
from lanai_sim.engines.native_library import texts


def built(source, folder, *arguments):
    """Compile a program beside the engine's files, without a warning, and run it."""
    for name, text in texts().items():
        (folder / name).write_text(text)
    program = folder / "program"
    flags = ["-std=gnu++17", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-pthread"]
    subprocess.run([*find(Language.CXX).command, *flags, "-o", str(program), str(source)], check=True)
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
