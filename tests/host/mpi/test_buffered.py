"""The buffer that a program attaches for MPI_Bsend."""

import numpy as np
import pytest

from lanai_host.mpi import (
    MpiError,
    buffered,
)
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.buffered import LONG
from lanai_host.mpi.constants import BSEND_OVERHEAD
from lanai_host.mpi.datatypes import PREDEFINED

from .ranks import buffer, ints

INT = PREDEFINED["MPI_INT"]


def test_the_attached_buffer_fills_and_empties(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            room = np.zeros(2 * (8 + BSEND_OVERHEAD), np.uint8)
            buffered.attach(world.process, room.ctypes.data, room.size)
            with pytest.raises(MpiError, match="a buffer is attached already"):
                buffered.attach(world.process, 0, 1)
            for number in range(10):
                buffered.bsend(comm, *buffer(ints(number, number)), 1, 0)
            with pytest.raises(MpiError, match="a message of 200 bytes needs 296 bytes in one piece"):
                buffered.bsend(comm, *buffer(np.zeros(50, np.int32)), 1, 0)
            buffered.detach(world.process)
            return
        got = ints(0, 0)
        for number in range(10):
            p2p.recv(comm, *buffer(got), 0, 0)
            assert got.tolist() == [number, number]

    run(2, program)


def test_a_long_message_holds_the_attached_buffer_until_it_is_taken(run):
    def program(world):
        comm = world.comm_world
        data = np.arange(LONG, dtype=np.uint8)
        char = PREDEFINED["MPI_CHAR"]
        if comm.rank == 0:
            room = np.zeros(LONG + BSEND_OVERHEAD, np.uint8)
            buffered.attach(world.process, room.ctypes.data, room.size)
            buffered.bsend(comm, data.ctypes.data, LONG, char, 1, 0)
            with pytest.raises(MpiError, match=f"needs {LONG + BSEND_OVERHEAD} bytes in one piece"):
                buffered.bsend(comm, data.ctypes.data, LONG, char, 1, 0)
            p2p.send(comm, 0, 0, INT, 1, 1)
            p2p.recv(comm, 0, 0, INT, 1, 1)
            buffered.bsend(comm, data.ctypes.data, LONG, char, 1, 0)
            buffered.detach(world.process)
            return
        got = np.zeros(LONG, np.uint8)
        p2p.recv(comm, 0, 0, INT, 0, 1)
        p2p.recv(comm, got.ctypes.data, LONG, char, 0, 0)
        p2p.send(comm, 0, 0, INT, 0, 1)
        p2p.recv(comm, got.ctypes.data, LONG, char, 0, 0)
        assert got.tolist() == data.tolist()

    run(2, program)
