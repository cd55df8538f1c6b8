"""The Verilog of designs: elaborated once, then from the cache."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from lanai_firmware import cache
from lanai_hdl.errors import UserError

from .designs import Design, key

MAKER = "lanai_sim.engines.gateware.verilog"
TOLD = f"{UserError.__module__}.{UserError.__qualname__}: "  # with it Python's traceback of such an error ends
CHANGED = "the gateware's sources changed while they were elaborated; run the command again"


def elaborate(designs: Sequence[Design], expected: tuple[object, ...]) -> list[dict[str, str]]:
    """The Verilog of each design by file name, from the cache if it is there. The designs' `key`
    must be `expected`."""
    texts = [_cached(design) for design in designs]
    if key(designs) != expected:
        raise UserError(CHANGED)
    return texts


def _cached(design: Design) -> dict[str, str]:
    made_of = key([design])

    def make() -> bytes:
        [texts] = in_fresh_process(MAKER, [design])
        if key([design]) != made_of:
            raise UserError(CHANGED)
        return json.dumps(texts).encode()

    texts: dict[str, str] = json.loads(cache.build(cache.key_of([repr(made_of)]), "verilog", make))
    return texts


def in_fresh_process(maker: str, wanted: Sequence[object]) -> list[Any]:
    """Return what the module `maker` makes of what is wanted, such as designs. A fresh process imports the files as
    they are on disk: modules that this process imported before an edit cannot get into the cache under the key of the
    edited files."""
    command = [sys.executable, "-P", "-m", maker]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    answer = subprocess.run(
        command, input=pickle.dumps(list(wanted)), capture_output=True, env=environment, check=False
    )
    if answer.returncode or not answer.stdout:  # an exception in a thread ends no process
        said = answer.stderr.decode(errors="replace").strip().splitlines()[-20:]
        if said and said[-1].startswith(TOLD):
            raise UserError(said[-1].removeprefix(TOLD))
        raise UserError(f"elaborating the gateware failed with exit code {answer.returncode}:\n" + "\n".join(said))
    made: list[Any] = pickle.loads(answer.stdout)
    return made
