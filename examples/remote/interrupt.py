"""Host 1 computes for 200 us. Host 0 signals it meanwhile: the computing is interrupted, and goes on.

Run: python examples/remote/interrupt.py
"""

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_host.config import pentium2_266
from lanai_sim.studies.remote_hosts import play

US = 1_000_000  # picoseconds
given = []


def signals(host):
    while not given:
        host.bus.elapse(US)
    host.bus.elapse(50 * US)
    begun = host.bus.now
    host.remote.wait(host.remote.signal(given[0], 7))
    return begun


def computes(host):
    queue = host.remote.signals()
    came = []

    def handler(signal):
        came.append((signal, host.bus.now))

    given.append(queue.token)
    begun = host.bus.now
    host.remote.work(200 * US, queue, handler)
    return came, host.bus.now - begun


sent, (came, took) = play([signals, computes], lanai41().but(blocks=(Remote(),)), costs=pentium2_266())
for signal, at in came:
    print(f"signal {signal.value} from node {signal.node}, {(at - sent) / US:.2f} us after it was sent")
print(f"the computing of 200 us took {took / US:.2f} us")
