"""Programs in C under the compiler's thread sanitizer."""

import os
import subprocess

import pytest

from lanai_host.compilers import Language, find

SECONDS = 900  # that a program may take on a busy machine


def build(source, *options):
    """Return the program that was compiled from a file of C, beside it. Skips the test if the compiler has no thread
    sanitizer."""
    binary = source.with_suffix("")
    command = [*find(Language.C).command, "-O1", "-g", "-fsanitize=thread", "-pthread", str(source), *options]
    done = subprocess.run([*command, "-o", str(binary)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this compiler has no thread sanitizer: {done.stderr[-300:]}")
    return binary


def run(binary, *arguments):
    """Run a program. It ends at the first race: what a thread does after one is undefined, and may not end."""
    environment = os.environ | {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
    return subprocess.run(
        [str(binary), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env=environment,
    )
