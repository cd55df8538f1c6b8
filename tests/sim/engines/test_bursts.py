"""Programs of PIO: an engine that is given a processor's bursts at once does them when it would
have done them one by one."""

import random

import pytest

from lanai_hdl.errors import UserError
from lanai_hdl.machine import SRAM_HOST, host_offset
from lanai_host.bus.greenlets import wait_for
from lanai_sim.engines.base import Burst
from lanai_sim.engines.cut import parts_of_units
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine import fabrics

from .play import NIC, PAIR

PROCESSORS = 3  # on each NIC
AREA = 0x400  # bytes of SRAM for each


class OneByOne(RtlEngine):
    """Leaves it to its caller to wait for each burst."""

    def bursts(self, nic, begin, bursts, tag):
        return False


def processor(node, number, seed, log):
    """A host program that performs programs of random bursts, some at the times of the others'."""
    chance = random.Random(f"{seed} {node.number} {number}")
    area = SRAM_HOST + AREA * number

    def program():
        bursts = []
        for _ in range(chance.randrange(1, 6)):
            elapsed = chance.choice((0, 0, 1, 15_151, 15_152, chance.randrange(400_000)))
            start = chance.randrange(AREA // 2)
            bursts.append(Burst(elapsed, area + start, chance.randbytes(chance.randrange(1, 40))))
        if chance.random() < 0.5:
            word = chance.choice((area + 4 * chance.randrange(AREA // 8), host_offset("CYCLES")))
            bursts.append(Burst(chance.randrange(100_000), word))
        return bursts

    async def run():
        clock = 1_000_000 * chance.randrange(2)
        for _ in range(12):
            bursts = program()
            clock, value = await node.perform(clock, bursts)
            log.append((node.number, number, clock, 0 if bursts[-1].data else value))
        for place in range(0, AREA // 2, 4):
            clock, word = await node.read(clock, area + place, 4)
            log.append((node.number, number, clock, word))

    return run()


def play(make_engine, seed):
    """Return the answers to each processor, and their times, in order."""
    log = []
    cluster = Cluster(PAIR, NIC, make_engine)
    for node in cluster.nodes:
        for number in range(PROCESSORS):
            cluster.kernel.spawn(processor(node, number, seed, log), node.number)
    cluster.run()
    cluster.close()
    return log


@pytest.mark.parametrize("seed", range(4))
def test_programs_are_what_their_bursts_are_one_by_one(seed):
    together, apart = play(RtlEngine, seed), play(OneByOne, seed)
    assert together == apart
    assert len(together) == 2 * PROCESSORS * (12 + AREA // 8)


def test_a_program_enters_the_engine_once():
    def entries(make_engine):
        cluster = Cluster(PAIR, NIC, make_engine)

        def program(bus):
            bursts = [Burst(50_000, SRAM_HOST + 4 * i, bytes([i] * 4)) for i in range(20)]
            wait_for(bus.node.write_all(0, bursts))

        cluster.spawn(0, program)
        cluster.run()
        count = cluster.engine.entries
        cluster.close()
        return count

    assert entries(RtlEngine) <= 2
    assert entries(OneByOne) >= 20


def test_work_before_a_write_of_nothing_counts():
    cluster = Cluster(PAIR, NIC)
    node = cluster.nodes[0]

    def program(bus):
        word = SRAM_HOST, bytes(4)
        plain = wait_for(node.write_all(1_000_000, [Burst(700_000, *word), Burst(300_000, *word)]))
        bursts = [Burst(500_000, SRAM_HOST), Burst(200_000, *word), Burst(300_000, *word), Burst(9, SRAM_HOST)]
        empty = wait_for(node.write_all(plain + 1_000_000, bursts))
        return empty - plain - 1_000_000, plain - 1_000_000

    task = cluster.spawn(0, program)
    cluster.run()
    cluster.close()
    empty, plain = task.result
    assert abs(empty - 9 - plain) < 50_000  # the host bus has a clock of its own
    assert empty > 1_000_000


# The units of a machine are shared out among its parts.


def cut(fabric, nics, parts):
    net = fabrics.describe(fabric, nics)
    return parts_of_units(parts, net.nics, net.switches, net.cables)


def test_nics_go_by_number_and_the_one_switch_to_the_first_part_of_equal_ones():
    assert cut("switch", 4, 2) == [0, 0, 1, 1, 0]


def test_a_switch_goes_to_the_part_with_less_work_if_half_as_many_of_its_neighbours_are_there():
    assert cut("switch", 5, 2) == [0, 0, 0, 1, 1, 1]
    assert cut("switch", 64, 2)[64:] == [0, 0, 1, 1, 1, 0]


def test_a_switch_goes_where_its_nics_are():
    assert cut("torus:2x2", 4, 2) == [0, 0, 1, 1] * 2


def test_one_part_has_all():
    assert set(cut("mesh:2x2", 4, 1)) == {0}


def test_no_part_is_empty():
    assert sorted(set(cut("switches:2", 7, 5))) == [0, 1, 2, 3, 4]


def test_more_parts_than_nics_are_refused():
    with pytest.raises(UserError, match="3 parts are more than the machine's 2 NICs; start at most 2 processes"):
        cut("pair", 2, 3)
