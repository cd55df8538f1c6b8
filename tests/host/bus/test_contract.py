"""The bus contract in the simulator, in a rank, in a bench, and over a serial line."""

import dataclasses
import socket
import threading

import pytest
from implementations import covered, implementations

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.boards import find
from lanai_hdl.machine import PIO_WINDOW_SIZE
from lanai_hdl.nic import Nic
from lanai_hdl.sram.memory import MemorySram
from lanai_host.bus.base import PAGE_SIZE, Bus, window_of
from lanai_host.bus.bench import BenchBus
from lanai_host.bus.greenlets import run_in_greenlet
from lanai_host.bus.serial import SerialBus
from lanai_host.config import free
from lanai_host.simulator.client import SimulatorClient
from lanai_host.simulator.rank_bus import RankBus
from lanai_sim.engines.pysim import PysimEngine
from lanai_sim.fpga.board_rtl import VerilatedBoard
from lanai_sim.job.nic_service import RankAccess
from lanai_sim.job.rank_service import Service
from lanai_sim.job.ranks import Ranks
from lanai_sim.job.request import Grant
from lanai_sim.kernel.cluster import Cluster, ClusterBus, rtl_engine
from lanai_sim.kernel.kernel import Kernel
from lanai_sim.machine.fabrics.switches import pair

from .contract import NIC, BusContract


class TestClusterBus(BusContract):
    implementation = ClusterBus
    make_engine = staticmethod(rtl_engine)

    def run(self, program):
        cluster = Cluster(pair(), NIC, self.make_engine)
        cluster.spawn(0, program)
        try:
            cluster.run()
        finally:
            cluster.close()


@pytest.mark.slow
class TestClusterBusOnPysim(TestClusterBus):
    make_engine = staticmethod(PysimEngine)


class TestRankBus(BusContract):
    """Rank and simulator are two threads of this process, with the socket between them."""

    implementation = RankBus

    def run(self, program):
        kernel = Kernel()
        cluster = Cluster(pair(), NIC, kernel=kernel)
        here, there = socket.socketpair()
        failures = []

        def rank_main():
            try:
                client = SimulatorClient(there, 0, 1)
                program(RankBus(client, free()))
                client.finalize()
            except BaseException as failure:
                failures.append(failure)
                there.close()

        thread = threading.Thread(target=rank_main, daemon=True)

        def on_quiet():
            if not thread.is_alive():
                ranks.leave(ranks.ranks[0])

        ranks = Ranks(kernel, [here], on_quiet)
        access = RankAccess(cluster, cluster.nodes[0], 0)
        access.grant = Grant(0, [range(PIO_WINDOW_SIZE)], 1)
        kernel.spawn(Service(kernel, ranks, ranks.ranks[0], {}, access).run())
        thread.start()
        try:
            kernel.run()
        finally:
            thread.join(10)
            ranks.close()
            cluster.close()
        for failure in failures:
            raise failure


@pytest.mark.slow
class TestBenchBus(BusContract):
    """Amaranth's simulator, as a bench has it."""

    implementation = BenchBus
    config = NIC.but(sram_size=32 * 1024)

    def run(self, program):
        nic = Nic(self.config, sram=MemorySram(self.config))
        bench = Bench(nic, slots=400_000)
        memories = []

        async def serve(context):
            memories.append(PysimPins(context, nic.mem))
            while len(memories) < 2:
                await context.tick()
            await memories[1].serve()

        async def host(context):
            while not memories:
                await context.tick()
            bus = BenchBus(PysimPins(context, nic.pio), memories[0], self.config.slot_khz, window_of(0) // PAGE_SIZE)
            memories.append(bus.memory)
            await run_in_greenlet(program, bus)

        bench.add_background(serve)
        bench.add(host)
        bench.run()


class TestSerialBus(BusContract):
    """A board in simulation, on a line that is quicker than a real one."""

    implementation = SerialBus
    timed = False
    board = find("ulx3s-85f")
    config = board.config.but(sram_size=32 * 1024)

    def run(self, program):
        board = dataclasses.replace(self.board, config=self.config, baud=1000 * self.config.slot_khz // 8)
        with VerilatedBoard(board) as line:
            program(SerialBus(line))


def test_every_bus_keeps_the_contract():
    assert covered(BusContract) == implementations(Bus)
