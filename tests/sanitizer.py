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
    if error := _compile(["-x", "c", "-"], binary, "int main(void) { return 0; }"):
        pytest.skip(f"this compiler has no thread sanitizer: {error[-300:]}")
    error = _compile([str(source), *options], binary)
    assert error is None, error
    return binary


def _compile(arguments, binary, text=""):
    """Compile with the sanitizer; the compiler's error, if there is one."""
    command = [*find(Language.C).command, "-O1", "-g", "-fsanitize=thread", "-pthread", *arguments, "-o", str(binary)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


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
