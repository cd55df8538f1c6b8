"""Output where the locale's encoding lacks letters."""

import os
import subprocess
import sys

import pytest

BODY = """
from lanai_sim import cli
from lanai_sim.commands import doctor
from lanai_sim.console import wide
from lanai_sim.report.tables import table
def run(args):
    made = table("Where the time went (\\u00b5s)", ["rank", "total"])
    made.add_row("0", "\\u00b7")
    wide().print(made)
    print("caf\\u00e9 and \\udcff")
    raise UserError("5 \\u00b5s")
from lanai_host.errors import UserError
doctor.run = run
raise SystemExit(cli.main(["doctor"]))
"""
PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


@pytest.mark.parametrize("variables", [PLAIN, {"PYTHONIOENCODING": "ascii"}], ids=["the C locale", "PYTHONIOENCODING"])
def test_letters_that_ascii_lacks_come_out_as_what_is_near(variables):
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", BODY], capture_output=True, env=environment, check=False, timeout=100)
    assert done.stderr == b"lanai: error: 5 us\n"
    assert b"Where the time went (us)" in done.stdout
    assert done.stdout.split()[-4:] == [b".", b"caf?", b"and", b"\xff"]
