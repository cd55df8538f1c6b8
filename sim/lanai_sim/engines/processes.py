"""Runs compilers and other tools. What they print is in the error if they fail."""

import errno
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lanai_host.compilers import guarded
from lanai_host.errors import UserError


def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    env = env or guarded()
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    check(command, answer.stdout, answer.returncode)


def check(command: Sequence[str], output: str, code: int) -> None:
    if code == 0:
        return
    if "No space left" in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raise UserError(
        f"{Path(command[0]).name} failed with exit code {code}:\n{_tail(output)}\ncommand: {' '.join(command)}"
    )


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
