"""A rank that looks at its wait while another process releases it."""

import subprocess

from lanai_host.compilers import Language, find

from . import transport_program


def test_a_rank_that_is_released_meanwhile_is_not_told_that_the_run_is_over(tmp_path):
    file = transport_program.written(tmp_path, "flipping.c")
    command = [*find(Language.C).command, "-O2", "-pthread", str(file), "-o", str(tmp_path / "flipping")]
    subprocess.run(command, check=True)
    told = subprocess.run(
        [tmp_path / "flipping", tmp_path / "memory"], capture_output=True, text=True, check=True, timeout=300
    )
    assert told.stdout == "0 0\n"
