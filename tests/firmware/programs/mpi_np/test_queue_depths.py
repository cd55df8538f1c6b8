"""The firmware runs on NICs with other queues than the Lanai 4.1's, or says by name which it cannot
run on."""

import pytest

from lanai_firmware.programs.mpi_np.layout import Kind
from lanai_firmware.programs.mpi_np.plan import LEAST_HDMA, LEAST_SEND, McpConfig, QueueDepths
from lanai_firmware.programs.mpi_np.sram import lay_out
from lanai_firmware.programs.mpi_np.state import FRAMES, RECORDS
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.machine import HostDmaStart

from .rig import SMALL, Rig

MOST_HDMA, MOST_SEND = int(RECORDS) - 2, int(FRAMES) - 2
DEPTHS = [
    {"hdma_queue": LEAST_HDMA},
    {"hdma_queue": MOST_HDMA},
    {"send_queue": LEAST_SEND},
    {"send_queue": MOST_SEND},
    {"recv_queue": 1},
    {"recv_queue": 64},
    {"completions": 1},
    {"hdma_queue": LEAST_HDMA, "send_queue": LEAST_SEND, "recv_queue": 1, "completions": 1},
]


def body(number):
    return bytes((number + i) & 255 for i in range(100 + number))


@pytest.mark.parametrize("recovery", [0, 1])
@pytest.mark.parametrize("depths", DEPTHS, ids=str)
def test_messages_pass_whatever_the_queues_hold(depths, recovery):
    """Both ways, on each of the three protocols, more of them than the smaller queues hold."""
    rig = Rig(SMALL.but(recovery=recovery), nic=lanai41().but(**depths))
    step = iter(range(1 << 30))
    for host in rig.hosts:
        for n in range(6):
            host.receive(n, n)
            host.send(n + 6, n, body(n), long=n % 3 == 1, sync=n % 3 == 2)
    rig.run(lambda count: next(step) % count, 20_000)
    for host in rig.hosts:
        assert sorted(r["tag"] for r in host.records() if r["kind"] is Kind.RECEIVED) == list(range(6))
        assert [host.page(n, 100 + n) for n in range(6)] == [body(n) for n in range(6)]


@pytest.mark.parametrize("depth", [3, 4, 8])
def test_bodies_are_followed_whatever_the_queue_holds(depth):
    """NP-51: an idle host DMA is one whose queue has all its entries free, however many those
    are."""
    rig = Rig(SMALL, nic=lanai41().but(hdma_queue=depth))
    a, b = rig.hosts
    b.receive(1, 1)
    b.script.pop()()
    a.send(1, 1, b"x" * 2000, long=True)
    followed = False
    order = ("host", "copy", "turn", "send", "accept", "finish")
    while actions := rig.actions():
        rig.act(min(actions, key=lambda action: order.index(action[0])))
        followed |= any(start & HostDmaStart.FOLLOW for *_, start in b.nic.copies)
    assert followed
    assert b.page(1, 2000) == b"x" * 2000


@pytest.mark.parametrize(
    ("depths", "text"),
    [
        ({"hdma_queue": 2}, f"hdma_queue=2, but this firmware needs {LEAST_HDMA} to {MOST_HDMA}"),
        ({"hdma_queue": MOST_HDMA + 1}, f"hdma_queue={MOST_HDMA + 1}, but this firmware needs {LEAST_HDMA} to"),
        ({"send_queue": 1}, f"send_queue=1, but this firmware needs {LEAST_SEND} to {MOST_SEND}"),
        ({"send_queue": 64}, "send_queue=64, but this firmware needs"),
    ],
)
def test_queues_that_the_firmware_cannot_use_are_refused(depths, text):
    with pytest.raises(UserError, match=text):
        lay_out(McpConfig(), 1, 2, 60_000, 0xFD000, depths=QueueDepths.built(lanai41().but(**depths)))


def test_the_driver_reads_them_from_the_nic():
    assert QueueDepths.of(0x0405_0607) == QueueDepths(hdma=4, send=5, recv=6)
