"""LLVM's Lanai backend at arm's length: IR text in, objects out, aborts turned into errors that
name the function."""

import atexit
import base64
import contextlib
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanai_hdl.errors import UserError

from .targets import Guards
from .worker import read_message, write_message

SPEED = 2
ALWAYS = (
    "-disable-loop-idiom-all",  # a fill loop stays one, instead of a call to memset
    "-replexitval=never",  # a sum over a range stays a loop, instead of a 64-bit product
)
AS_WRITTEN = " optnone"  # the attribute of a function, as IR has it
WITHOUT_REDUCTION = "-disable-lsr"  # loop strength reduction makes the negative displacements that abort the encoder


class BackendError(UserError):
    """LLVM refused or aborted. The text names the functions."""


@dataclass(frozen=True)
class Emitted:
    objects: tuple[bytes, ...]
    locals: dict[str, int]
    assembly: str = ""
    unreduced: tuple[str, ...] = field(default=())  # functions compiled without loop strength reduction


class Worker:
    """A worker process with one set of options, kept for the next request; a new one after an
    abort."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, or None if LLVM ended the process."""
        if self.process is None:
            # The worker is this very package, wherever the caller stands and whatever its path
            # holds.
            root = str(Path(__file__).parents[2])
            start = (
                f"import sys; sys.path.insert(0, {root!r}); import runpy; "
                "runpy.run_module('lanai_firmware.compiler.worker', run_name='__main__')"
            )
            self.process = subprocess.Popen(
                [sys.executable, "-c", start, *self.options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            write_message(process.stdin, request)
            answer: dict[str, Any] | None = read_message(process.stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            self.close()
        return answer

    def close(self) -> None:
        if self.process is not None:
            process, self.process = self.process, None
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            process.wait()


WORKERS: dict[tuple[str, ...], Worker] = {}


@atexit.register
def close_workers() -> None:
    for worker in WORKERS.values():
        worker.close()


def worker(*options: str) -> Worker:
    return WORKERS.setdefault(options, Worker(options))


def options_of(guards: Guards) -> tuple[str, ...]:
    chosen = list(ALWAYS)
    if guards.no_peephole:
        chosen.append("-disable-peephole")
    if guards.no_combiner:
        chosen.append("-disable-lanai-mem-alu-combiner")
    return tuple(chosen)


def emit(text: str, guards: Guards, assembly: bool = False) -> Emitted:
    """Objects for one module of IR.

    If LLVM aborts, the functions that it aborts on are compiled apart, without loop strength
    reduction. Those that even so have no code as they are written (`Effort`) are optimized. Those that have none
    then are named in a `BackendError`.
    """
    request = {"ir": text, "speed": SPEED, "assembly": assembly, "retry": [WITHOUT_REDUCTION]}
    answer = worker(*options_of(guards)).ask(request)
    if answer is not None and answer.get("hopeless") and AS_WRITTEN in text:
        return emit(optimized(text, answer["hopeless"]), guards, assembly)
    if answer is None:
        raise BackendError("LLVM ended without an answer while optimizing; this is a bug, please report the source")
    if "error" in answer:
        raise BackendError(
            f"LLVM refuses the generated code: {answer['error']}; this is a bug, please report the source"
        )
    if answer["hopeless"]:
        raise BackendError(
            f"LLVM's Lanai backend aborts on {', '.join(answer['hopeless'])}; it cannot address below a pointer: "
            "write the loop upwards, or index from the start of the array"
        )
    objects = tuple(base64.b64decode(data) for data in answer["objects"])
    return Emitted(objects, answer["locals"], answer.get("assembly", ""), tuple(answer["unreduced"]))


def optimized(text: str, names: Sequence[str]) -> str:
    """Return a module in which these functions are optimized, whatever its `Effort`. Others keep theirs."""
    those = "|".join(map(re.escape, names))
    return re.sub(rf'^define .*@"(?:{those})"\(.*$', lambda line: line[0].replace(AS_WRITTEN, ""), text, flags=re.M)
