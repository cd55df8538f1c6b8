"""Programs with a wrong order that plain runs pass, in the folder `programs`: how each fails, with how many ranks."""

import shutil
import subprocess
import sys
from pathlib import Path

from lanai_host.abi.wrappers import WRAPPERS, line

FOLDER = Path(__file__).parent / "programs"
WRONG = {  # name: (ranks, how it fails)
    "all_at_once.py": (3, "deadlock"),
    "first_ticket.py": (3, "rank failed"),
    "first_reply.py": (3, "rank failed"),
    "float_sum.c": (4, "output"),
    "head_to_head.c": (2, "deadlock"),
    "late_sender.py": (3, "rank failed"),
    "lost_update.c": (3, "aborted"),
    "phases.py": (3, "rank failed"),
    "posted_receives.c": (3, "deadlock"),
    "probe_size.c": (3, "aborted"),
    "request_order.py": (2, "rank failed"),
    "surely_there.py": (2, "rank failed"),
    "two_steps.c": (3, "rank failed"),
    "wrong_recipient.c": (3, "deadlock"),
}


def has_compiler():
    return any(map(shutil.which, ("cc", "gcc", "clang")))


def command(name, folder):
    """Return the command that runs a program; one in C is compiled into the folder."""
    source = FOLDER / name
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    program = folder / source.stem
    subprocess.run(line(WRAPPERS["mpicc"], ["-g", str(source), "-o", str(program)]).command, check=True)
    return [str(program)]
