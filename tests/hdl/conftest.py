"""The formal runner, which the tests of gateware share."""

import os
import shutil
import signal
import subprocess
import sysconfig

import pytest
from amaranth.back import rtlil

TOOLS = ("yosys", "yosys-smtbmc", "yosys-witness")
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


@pytest.fixture
def prove(tmp_path):
    """`prove(spec, mode="prove", depth=2)`: the assertions inside a component without ports hold,
    by induction or (`bmc`) for depth steps."""
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    if shutil.which("yowasp-sby", path=path) is None:
        pytest.skip("yowasp-sby is not installed; pip install 'openlanai[formal]'")
    links = tmp_path / "bin"
    links.mkdir()
    for tool in TOOLS:
        # sby calls its tools by their plain names; the packages of the same tools carry a prefix.
        (links / tool).symlink_to(shutil.which(f"yowasp-{tool}", path=path))

    def check(spec, *, mode="prove", depth=2):
        (tmp_path / "top.il").write_text(rtlil.convert(spec, name="top", ports=[]))
        (tmp_path / "top.sby").write_text(SCRIPT.format(mode=mode, depth=depth))
        command = [shutil.which("yowasp-sby", path=path), "-f", "top.sby"]
        environment = {**os.environ, "PATH": os.pathsep.join((str(links), path))}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        ) as run:  # fmt: skip
            try:
                output, _ = run.communicate()
            except BaseException:
                os.killpg(run.pid, signal.SIGKILL)  # the solver is a grandchild, and holds the pipe open
                raise
        assert run.returncode == 0, output[-4000:]

    return check
