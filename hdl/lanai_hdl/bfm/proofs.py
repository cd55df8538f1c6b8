"""Formal proofs of gateware, by tools that pip brings: SymbiYosys, Yosys and Yices of YoWASP.

A proof is a component without ports. It has the block that it is about as a submodule, drives its inputs with
`AnySeq` and `AnyConst`, and says by `Assert` what always holds and by `Assume` what is given.
"""

import os
import shutil
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from ..errors import UserError

TOOLS = ("yosys", "yosys-smtbmc", "yosys-witness")
MODES = ("prove", "bmc")
TRACES = ("top/engine_0/trace.vcd", "top/engine_0/trace_induct.vcd")
SCRIPT = """\
[options]
mode {mode}
depth {depth}
[engines]
smtbmc yices
[script]
read_rtlil top.il
chformal -early
prep -top top
[files]
top.il
"""


def _path() -> str:
    return os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))


def missing() -> str | None:
    """Return what `prove` needs and this machine lacks, or None."""
    if shutil.which("yowasp-sby", path=_path()) is None:
        return "yowasp-sby is not installed; pip install 'openlanai[formal]'"
    return None


def prove(spec: Any, directory: str | Path, *, mode: str = "prove", depth: int = 2) -> None:
    """Prove the assertions in a component without ports. An assertion that can fail is an AssertionError, which has the
    end of the log and names the waveform of a run in which it fails.

    Parameters
    ----------
    directory : for what the tools write: the design, logs, waveforms
    mode : "prove", for all time, by induction; "bmc", for `depth` slots from reset
    depth : with "prove", slots that a state must have been right for before the next one must be
    """
    if mode not in MODES or depth < 1:
        raise UserError(f"mode={mode!r}, depth={depth} is no proof; take one of {MODES}, and a depth of 1 or more")
    if lacking := missing():
        raise UserError(lacking)
    directory, path = Path(directory), _path()
    directory.mkdir(parents=True, exist_ok=True)
    links = directory / "bin"
    links.mkdir(exist_ok=True)
    for tool in TOOLS:
        # sby calls its tools by their plain names; the packages of the same tools carry a prefix.
        (links / tool).unlink(missing_ok=True)
        (links / tool).symlink_to(shutil.which(f"yowasp-{tool}", path=path) or tool)
    (directory / "top.il").write_text(rtlil.convert(spec, name="top", ports=[]))
    (directory / "top.sby").write_text(SCRIPT.format(mode=mode, depth=depth))
    command = [shutil.which("yowasp-sby", path=path) or "yowasp-sby", "-f", "top.sby"]
    environment = {**os.environ, "PATH": os.pathsep.join((str(links.resolve()), path))}
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as run:  # fmt: skip
        try:
            output, _ = run.communicate()
        except BaseException:
            os.killpg(run.pid, signal.SIGKILL)  # the solver is a grandchild, and holds the pipe open
            raise
    if run.returncode:
        traces = [str(directory / trace) for trace in TRACES if (directory / trace).exists()]
        shown = f"\nthe waveform of a run in which it fails: {traces[0]}" if traces else ""
        raise AssertionError(f"{output[-4000:]}{shown}")
