"""The tools interface on NICs, where it reads what they count. (tests/host/c/tools.c is also among
the programs on `ideal`.)"""

import pytest

from lanai_hdl.machine import COUNTER_NAMES, host_offset
from lanai_sim.job.grant import Forbidden, Grant

from .jobs import C, mpicc, together


def test_counters_may_be_read_by_every_rank_and_written_by_none():
    grant = Grant(3, [range(0x100000, 0x100010)])
    for name in COUNTER_NAMES:
        grant.check_read(host_offset(name), 4)
        with pytest.raises(Forbidden, match="rank 3 wrote 4 bytes"):
            grant.check_write(host_offset(name), bytes(4))
    with pytest.raises(Forbidden, match="rank 3 read 8 bytes"):
        grant.check_read(host_offset(COUNTER_NAMES[0]), 8)
    with pytest.raises(Forbidden, match="rank 3 read 4 bytes"):
        grant.check_read(host_offset("CONTROL"), 4)


def test_a_tool_reads_what_the_nic_counts(tmp_path):
    program = str(tmp_path / "tools")
    mpicc("-O1", "-w", str(C / "tools.c"), "-o", program)
    done = together(2, program, "nic", device="mpi-np", timeout=600)
    assert (done.stdout, done.returncode) == ("all right\n", 0), done.stderr
