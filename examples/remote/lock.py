"""A lock in host 0's memory guards a sum there that each host reads, increases and writes back.

Run: python examples/remote/lock.py
"""

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic
from lanai_sim.studies.remote_hosts import play

HOSTS, ROUNDS = 2, 4
LOCK, SUM = 0, 64  # offsets in host 0's memory; a free lock is 0
PAUSE = 2_000_000  # picoseconds before the next attempt


def increase(host):
    remote, there = host.remote, host.tokens[0]
    for _ in range(ROUNDS):
        while remote.wait(remote.atomic(there, LOCK, Atomic.CAS, 1 + host.node, 0)).value != 0:
            host.bus.elapse(PAUSE)
        remote.get(there, SUM, host.address + 4096, 4)
        remote.settle()
        host.memory[4096:4100] = (host.word(4096) + 1 + host.node).to_bytes(4, "little")
        remote.put(there, SUM, host.address + 4096, 4)
        remote.wait(remote.atomic(there, LOCK, Atomic.SWAP, 0))  # carried out after the put
    return int.from_bytes(host.memory[4096:4100], "little")


last_written = play([increase] * HOSTS, lanai41().but(blocks=(Remote(),)))
print(f"sum: {max(last_written)}, expected {ROUNDS * sum(range(1, HOSTS + 1))}")
