"""A rank that looks at its wait while another process releases it."""

import subprocess
from importlib import resources
from pathlib import Path

from lanai_host.compilers import Language, find
from lanai_host.simulator.transport import HEADER, PARTS

SOURCES = (*PARTS, ("lanai_host.simulator", "transport"))
PROGRAM = Path(__file__).with_name("flipping.c")


def test_a_rank_that_is_released_meanwhile_is_not_told_that_the_run_is_over(tmp_path):
    parts = "".join((resources.files(package) / f"{name}.c").read_text() for package, name in SOURCES)
    head = "#define _GNU_SOURCE 1\n#include <fcntl.h>\n#include <stdio.h>\n"
    (tmp_path / "all.c").write_text(head + HEADER + parts + PROGRAM.read_text())
    command = [*find(Language.C).command, "-O2", "-pthread", str(tmp_path / "all.c"), "-o", str(tmp_path / "flipping")]
    subprocess.run(command, check=True)
    told = subprocess.run(
        [tmp_path / "flipping", tmp_path / "memory"], capture_output=True, text=True, check=True, timeout=300
    )
    assert told.stdout == "0 0\n"
