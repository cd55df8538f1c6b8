import numpy as np
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.op import PREDEFINED as OPS
from .ranks import run, buffer, ints

def test_basic():
    def program(world):
        c = world.comm_world
        a = ints(c.rank + 1); b = ints(0)
        s = c.sendrecv(*buffer(a), (c.rank+1)%c.size, 3, *buffer(b), (c.rank-1)%c.size, 3)
        assert s.source == (c.rank-1)%c.size and s.count==4 and b[0]==s.source+1
        for n in (1, 1000, 100000):
            x = np.arange(n, dtype=np.float64)+c.rank; y = np.zeros(n)
            c.run(coll.allreduce, buffer(x)[0], *buffer(y), OPS["MPI_SUM"])
            assert np.allclose(y, np.arange(n)*c.size + sum(range(c.size)))
            z = x.copy() if c.rank==2%c.size else np.zeros(n)
            c.run(coll.bcast, *buffer(z), 2%c.size)
            assert np.allclose(z, np.arange(n)+2%c.size)
            g = np.zeros(n*c.size)
            c.run(coll.allgather, *buffer(x), buffer(g)[0], n, buffer(g)[2])
            assert np.allclose(g.reshape(c.size,n), np.arange(n)[None,:]+np.arange(c.size)[:,None])
            h = np.zeros(n*c.size)
            c.run(coll.alltoall, buffer(g)[0], n, buffer(g)[2], buffer(h)[0], n, buffer(g)[2])
            assert np.allclose(h.reshape(c.size,n), (np.arange(n)+c.rank)[None,:])
        d = c.duplicate()
        e = d.split(c.rank%2, -c.rank)
        assert e.size == (c.size + 1 - c.rank%2)//2
        s = ints(0)
        e.run(coll.scan, buffer(ints(1))[0], *buffer(s), OPS["MPI_SUM"])
        assert s[0] == e.rank+1
        if c.size > 1:
            i = e.create_intercomm(e.size - 1, c, 1-c.rank%2, 5)
            m = i.merge(bool(c.rank%2))
            assert m.size == c.size
            r=ints(0)
            i.run(coll.allreduce, buffer(ints(1))[0], *buffer(r), OPS["MPI_SUM"])
            assert r[0]==i.remote_size
            i.free(); m.free()
        return d.number
    for size in (1,2,3,4,5,8,9):
        run(size, program)
