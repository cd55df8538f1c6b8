"""Messages of a process to itself, which go through its NIC."""

import pytest

from lanai_host.config import HostConfig
from lanai_host.mpi import point_to_point, probing
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.world import World as Mpi
from lanai_host.process_manager import Local, Registry

from .np_calls import Buffer, pattern
from .np_world import World

BYTE = PREDEFINED["MPI_BYTE"]


@pytest.mark.parametrize("size", [0, 8, 3000, 100_000])
def test_a_matched_one_is_there_when_its_receive_has_begun(size):
    """The NIC does not go on to write to the buffer, which programs drop after one MPI_Test."""

    def program(device):
        mpi = Mpi(device, HostConfig(), manager=Local(0, Registry()))
        mpi.init()
        comm = mpi.comm_self
        sent, got = Buffer(pattern(size)), Buffer(size)
        sends = point_to_point.issend(comm, sent.address, size, BYTE, 0, 6)
        message, status = probing.mprobe(comm, 0, 6)
        assert status.count == size
        receives = message.irecv(got.address, size, BYTE)
        assert receives.done
        assert got.data == sent.data
        sends.wait()

    World(1).run(program)
