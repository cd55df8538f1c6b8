"""The time that the adapter waits for an answer until it sends again."""

from functools import partial

import pytest

from lanai_host.errors import UserError
from lanai_host.stacks import on_adapter
from lanai_host.stacks.base import Placement
from lanai_host.stacks.mbcf.layout import MbcfOptions
from lanai_host.stacks.mbcf.stack import STACK
from lanai_host.stacks.on_adapter import adapter_in, timeout_on
from lanai_sim.job.data import JobData
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.kernel.kernel import Kernel
from lanai_sim.machine import fabrics
from lanai_sim.machine.presets import mbcf_100baset
from lanai_sim.studies.remote_hosts import idle, play

NIC = mbcf_100baset()


@pytest.mark.parametrize("microseconds", [0, 20_000])
def test_the_adapter_is_booted_with_what_the_option_says(monkeypatch, microseconds):
    """0 is what any system on the adapter has."""
    seen = {}

    def nothing(bus):
        pass

    def boot(bus, adapter, node, routes, **how):
        seen.update(how)

    for name, stand_in in (("check_machine", nothing), ("reset", nothing), ("boot", boot)):
        monkeypatch.setattr(on_adapter, name, stand_in)
    placement = Placement(2, 1, lambda source, dest: 0, NIC, passage=lambda size: 2 * 2 * size)
    STACK.boot(None, None, MbcfOptions(timeout=microseconds), placement, 0)
    own = timeout_on(NIC, adapter_in(NIC), placement.passage)
    assert own == 2 * timeout_on(NIC, adapter_in(NIC))
    assert seen["timeout"] == (microseconds * NIC.slot_khz // 1000 or own)
    assert own < 20_000 * NIC.slot_khz // 1000


def timeout(fabric, nics):
    return timeout_on(NIC, adapter_in(NIC), partial(fabrics.describe(fabric, nics).passage, NIC))


def test_a_packet_may_wait_for_one_of_each_other_nic():
    """Two NICs on a switch have their links to themselves. On one wire all take turns, or also back off."""
    assert timeout("switch", 2) == timeout_on(NIC, adapter_in(NIC))
    assert timeout("switch", 8) == 7 * timeout("switch", 2)
    assert timeout("switching-hub", 8) == 7 * timeout("switching-hub", 2) > timeout("switch", 8)
    assert timeout("hub", 8) == 8 * timeout("switching-hub", 2)
    backoff = fabrics.describe("csma", 8).layout(NIC).switch.backoff
    assert timeout("csma", 8) == timeout("hub", 8) + 4 * backoff.longest
    assert timeout("ethernet", 2) > 10 * timeout("hub", 2)  # its rate is a tenth of the links'
    assert timeout("ethernet", 16) < 1 << 24


def test_a_run_asks_its_fabric():
    world = NicWorld(JobData(("true",), 4, "mbcf"), Kernel())
    assert world.placement.passage(1000) == fabrics.describe("switch", 4).passage(world.config.machine.nic, 1000) > 0


@pytest.mark.ci
def test_a_port_that_seven_nics_send_to_is_no_dead_peer():
    """Nothing is sent twice. With the timeout for two NICs each sender repeats its packets."""

    def program(host):
        host.remote.put(host.tokens[0], 0, host.address, 4096)
        host.remote.settle()
        return host.counter("REMOTE_TIMEOUTS")

    fabric = fabrics.describe("switching-hub", 8)
    assert play([idle, *[program] * 7], NIC, fabric, size=4096, timeout=timeout("switching-hub", 8))[1:] == [0] * 7


def test_a_time_that_cannot_be_is_refused():
    with pytest.raises(UserError, match="timeout=-1"):
        MbcfOptions(timeout=-1)
