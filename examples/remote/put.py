"""Two hosts: one writes into the other's memory, waits until it is there, and reads it back.

Run: python examples/remote/put.py
"""

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_sim.studies.remote_hosts import idle, play

MESSAGE = b"written by another host, without a processor on the way"


def writer(host):
    there = host.tokens[1]
    host.memory[: len(MESSAGE)] = MESSAGE
    begin = host.bus.now
    host.remote.put(there, 1001, host.address, len(MESSAGE))
    host.remote.settle()
    print(f"put and settle: {(host.bus.now - begin) / 1e6:.2f} us")
    begin = host.bus.now
    host.remote.get(there, 1001, host.address + 4096, len(MESSAGE))
    host.remote.settle()
    print(f"get: {(host.bus.now - begin) / 1e6:.2f} us")
    print(bytes(host.memory[4096 : 4096 + len(MESSAGE)]).decode())


play([writer, idle], lanai41().but(blocks=(Remote(),)))
