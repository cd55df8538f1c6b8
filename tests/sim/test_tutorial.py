"""Every step of the tutorial works, in the order of the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


def test_steps_run(tmp_path):
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    commands = [line for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    assert len(commands) > 8, "the tutorial has lost its steps"
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    (script,) = (text for kind, text in blocks if kind == "python")
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert re.fullmatch(r"\d+\.\d{3} µs from the request to the data, \d+ messages\n", shown)
    assert {"ping.html", "ping.json", "firmware.svg"} <= {path.name for path in tmp_path.iterdir()}
