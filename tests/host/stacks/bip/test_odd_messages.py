"""Unusual messages give on `bip` what they give on `ideal`, which has no NIC."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).with_name("odd_messages.py")
OPTIONS = ("short=256", "short=0", "short=484", "credits=1", "credits=2", "packet=512")


def digests(seed, ranks, *device):
    run = warm.lanai("run", "-q", "-n", ranks, *device, sys.executable, PROGRAM, seed, timeout=500)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"[0-9a-f]{16}( [0-9a-f]{16})*\n", run.stdout)
    return run.stdout


@pytest.mark.parametrize(
    ("seed", "ranks"),
    [
        (1, 2),
        *(pytest.param(seed, 2 + seed % 4, marks=pytest.mark.ci) for seed in range(2, 6)),
        *(pytest.param(seed, 2 + seed % 7, marks=pytest.mark.slow) for seed in range(6, 26)),
    ],
)
def test_as_without_a_nic(seed, ranks):
    option = OPTIONS[seed % len(OPTIONS)]
    assert digests(seed, ranks, "--device", "bip", "--option", option) == digests(seed, ranks, "--device", "ideal")
