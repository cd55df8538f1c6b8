"""C programs around the transport's own sources."""

from importlib import resources
from pathlib import Path

from lanai_host.simulator.transport import HEADER, PARTS

HEAD = "#define _GNU_SOURCE 1\n#include <fcntl.h>\n#include <stdio.h>\n"


def written(folder, program, change=lambda text: text):
    """The file of the whole program: the transport and the C file `program` of this directory.
    `change` is made to the transport."""
    source = "".join((resources.files(package) / f"{name}.c").read_text() for package, name in PARTS)
    file = folder / "all.c"
    file.write_text(HEAD + HEADER + change(source) + Path(__file__).with_name(program).read_text())
    return file
