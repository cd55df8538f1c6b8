"""`import openlanai` gives out the public names."""

import subprocess
import sys

import openlanai


def test_all_names_are_there_and_documented():
    for name in openlanai.__all__:
        assert getattr(openlanai, name).__doc__, name


def test_errors_are_of_one_family():
    for name in ("UserError", "RunFailed", "Deadlock", "RankError"):
        assert issubclass(getattr(openlanai, name), openlanai.LanaiError)


def test_importing_it_starts_nothing():
    """No gateware is elaborated, nothing is printed, and signals stay as they are."""
    code = (
        "import signal, sys; before = signal.getsignal(signal.SIGINT); import openlanai; "
        "assert signal.getsignal(signal.SIGINT) is before; print('amaranth' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.stderr) == ("False\n", "")
