"""Two ranks exchange messages while the NIC of a third one is reset, which sends to one of them."""

import sys

import pytest

import openlanai
from openlanai import Job

PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
rank, good, got, long = world.rank, bytes(range(256)) * 4, bytearray(1024), bytearray(20_000)

def exchange():
    for sender in (0, 2):
        if rank == sender:
            world.Send(good, 2 - rank)
        else:
            world.Recv(got, 2 - rank)
            assert got == good
            got[:] = bytes(1024)

def told(what):
    kinds = {MPI.ERR_OTHER: "own", MPI.ERR_PROC_ABORTED: "peer"}
    try:
        return what()
    except MPI.Exception as error:
        print(kinds.get(error.Get_error_class(), "?"), error)

if rank == 1:
    while told(lambda: world.Send(long, 0) or True):
        pass
else:
    receive = world.Irecv(long, 1) if rank == 0 else MPI.REQUEST_NULL
    done = False
    for _ in range(120):
        exchange()
        if rank == 0 and receive != MPI.REQUEST_NULL and (done := told(receive.Test)):
            receive = world.Irecv(long, 1)
    if rank == 0 and receive != MPI.REQUEST_NULL:
        told(receive.Wait)
    print("all exchanged")
"""
DEVICES = [("mbcf", {}), ("sci", {}), ("t3d", {"nic": "t3d_shell"})]
MOMENTS = [150_000_000, *(pytest.param(150_000_000 + n * 700_000, marks=pytest.mark.ci) for n in range(1, 4))]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("device", "machine"), DEVICES)
def test_a_packet_that_a_reset_cuts_is_not_in_the_way_of_others(device, machine, moment, reset):
    reset(moment)
    job = Job([sys.executable, "-c", PROGRAM], 3, device, max_sim_time="500ms", capture=True)
    result = job.but(machine=openlanai.Machine(host={"watchdog": 2_000_000_000}, **machine)).run()
    assert str(result.ending) == "finished", result.report
    first, victim, other = (one.stdout.splitlines() for one in result.outputs)
    assert other == ["all exchanged"]
    assert first[-1] == "all exchanged"
    assert first[0].startswith("peer ")
    assert "rank 1" in first[0]
    assert len(first) == 2
    assert victim[0].startswith("own ")
    assert "the NIC of rank 1 was reset" in victim[0]
