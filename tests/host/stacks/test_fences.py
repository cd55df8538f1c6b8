"""Windows on every messaging system, whether it moves their data itself or MPI does it by messages."""

import sys
from pathlib import Path

import pytest
import warm

from lanai_host.stacks import names

PROGRAM = Path(__file__).with_name("fences.py")


@pytest.mark.parametrize(
    "sizes", ["1,4096", pytest.param("0,100,1024,1025,4095,4097,9001,60000", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("device", names())
def test_puts_and_gets_arrive_whole(device, sizes):
    run = warm.lanai("run", "-q", "-n", 3, "--device", device, sys.executable, PROGRAM, sizes, timeout=300)
    assert (run.stdout, run.stderr) == ("all there\n" * 3, "")
