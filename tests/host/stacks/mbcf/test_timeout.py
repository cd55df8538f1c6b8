"""How long the adapter waits for an answer until it sends again."""

import asyncio

import pytest

from lanai_host.errors import UserError
from lanai_host.stacks import on_adapter
from lanai_host.stacks.base import Placement
from lanai_host.stacks.mbcf.options import MbcfOptions
from lanai_host.stacks.mbcf.stack import STACK
from lanai_host.stacks.on_adapter import adapter_in, timeout_on
from lanai_sim.machine.presets import mbcf_100baset

NIC = mbcf_100baset()


@pytest.mark.parametrize("microseconds", [0, 20_000])
def test_the_adapter_is_booted_with_what_the_option_says(monkeypatch, microseconds):
    """0 is what any system on the adapter has."""
    seen = {}

    async def nothing(bus):
        pass

    async def boot(bus, adapter, node, routes, **how):
        seen.update(how)

    for name, stand_in in (("check_machine", nothing), ("reset", nothing), ("boot", boot)):
        monkeypatch.setattr(on_adapter, name, stand_in)
    placement = Placement(2, 1, lambda source, dest: 0, NIC)
    asyncio.run(STACK.boot(None, None, MbcfOptions(timeout=microseconds), placement, 0))
    own = timeout_on(NIC, adapter_in(NIC))
    assert seen["timeout"] == (microseconds * NIC.slot_khz // 1000 or own)
    assert own < 20_000 * NIC.slot_khz // 1000


def test_a_time_that_cannot_be_is_refused():
    with pytest.raises(UserError, match="timeout=-1"):
        MbcfOptions(timeout=-1)
