"""Two hosts draw numbers from one counter in host 0's memory: no number twice, none left out.

Run: python examples/remote/counter.py
"""

from itertools import chain

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic
from lanai_sim.studies.remote_hosts import play

HOSTS, DRAWS = 2, 6


def draw(host):
    numbers = []
    for _ in range(DRAWS):
        operation = host.remote.atomic(host.tokens[0], 0, Atomic.ADD, 1)
        numbers.append(host.remote.wait(operation).value)
    return numbers


drawn = play([draw] * HOSTS, lanai41().but(blocks=(Remote(),)))
for node, numbers in enumerate(drawn):
    print(f"host {node} drew {numbers}")
print("every number once:", sorted(chain(*drawn)) == list(range(HOSTS * DRAWS)))
