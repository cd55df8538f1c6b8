"""The same two nodes under each simulator of the gateware: the Verilated engine, Amaranth's
simulator, cocotb."""

import ctypes
from pathlib import Path

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.bfm.verilated import missing, run_cocotb
from lanai_hdl.config import lanai41
from lanai_hdl.nic import Nic
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics
from lanai_host.body import Run
from lanai_host.bus.base import PAGE_SIZE
from lanai_host.config import free
from lanai_host.device import SendMode
from lanai_host.operation import Wait
from lanai_host.stacks.base import Placement
from lanai_host.stacks.mpi_np.device import MpiNp
from lanai_host.stacks.mpi_np.stack import STACK
from lanai_sim.engines.pysim import PysimEngine
from lanai_sim.kernel.cluster import Cluster, rtl_engine
from lanai_sim.machine.fabrics.switches import star

CONFIG = lanai41()
QUICK = CONFIG.but(host_bus_khz=CONFIG.slot_khz)  # the firmware is loaded in fewer slots
FIRMWARE = McpConfig(messages=8, receives=8, any_receives=2, ack_slots=2, stages=4, buffers=8, eager_limit=256)
EAGER, LONG = 4, 1500  # the second is announced, and brought when its receive is there
MICROSECOND = 1_000_000  # picoseconds
WHY = Wait("two nodes")


class Memory:
    """Page-aligned memory of this process."""

    def __init__(self, size, data=b""):
        self.store = ctypes.create_string_buffer(size + PAGE_SIZE)
        self.address = -(-ctypes.addressof(self.store) // PAGE_SIZE) * PAGE_SIZE
        self.body = Run(self.address, size)
        ctypes.memmove(self.address, data, len(data))

    @property
    def data(self):
        return ctypes.string_at(self.address, self.body.size)


def text(rank, size):
    return bytes((rank * 100 + i + (i >> 8)) & 0xFF for i in range(size))


class Meeting:
    """Goes on when both have come."""

    def __init__(self):
        self.come = 0

    def __call__(self, bus):
        self.come += 1
        goal = -(-self.come // 2) * 2
        while self.come < goal:
            bus.elapse(MICROSECOND)


def node(bus, rank, meet, config):
    """One node. NIC n is at port n of one switch. The bytes that came, by size."""
    placement = Placement(2, 1, lambda _, peer: (0x80 | peer) << 24, config)
    attached = STACK.boot(bus, STACK.image(config), FIRMWARE, placement, rank)
    device = MpiNp(bus, attached[rank], free())
    meet(bus)
    other, came = 1 - rank, {}
    for tag, size in enumerate((EAGER, LONG)):
        memory, room = Memory(size, text(rank, size)), Memory(size)
        if rank:  # one receive is posted before its message comes, the other after
            bus.elapse(20 * MICROSECOND)
        receive = device.receive(other, tag, 0, room.body)
        send = device.send(other, tag, 0, memory.body, SendMode.STANDARD)
        device.finish([send, receive], WHY)
        assert (send.error, receive.error, receive.source, receive.length) == (None, None, other, size)
        assert room.data == text(other, size)
        came[size] = room.data
    meet(bus)
    return came


def on_cluster(make_engine, config):
    cluster = Cluster(star(2), config, make_engine)
    meet = Meeting()
    tasks = [cluster.spawn(n, lambda bus: node(bus, bus.number, meet, config)) for n in range(2)]
    try:
        cluster.run()
    finally:
        cluster.close()
    assert [task.result for task in tasks] == [{size: text(1 - n, size) for size in (EAGER, LONG)} for n in range(2)]


def test_rtl():
    on_cluster(rtl_engine, CONFIG)


@pytest.mark.slow
def test_pysim():
    on_cluster(PysimEngine, QUICK)


@pytest.mark.slow
def test_cocotb(tmp_path):
    if lacking := missing():
        pytest.skip(lacking)
    nics = [Nic(QUICK), Nic(QUICK)]
    switch = Switch(SwitchConfig(ports=2, nic=QUICK))
    component = SwitchedNics(nics, switch, QUICK.link_latency)
    assert run_cocotb(component, Path(__file__).with_name("cocotb_two_nodes.py"), tmp_path) == 1
