"""The prices of host work, apart from the choices of the drivers of NICs."""

from dataclasses import fields

import pytest

from lanai_hdl.errors import UserError
from lanai_host.config import PRESETS, HostConfig, HostCost, HostCosts, Queue
from lanai_host.kernel_costs import KernelCosts


def test_every_kind_of_work_has_a_price_and_the_options_of_drivers_have_none():
    costs = {field.name for field in fields(HostCosts)}
    kernel = {f"kernel.{field.name}" for field in fields(KernelCosts)}
    assert costs | kernel >= {what.value for what in HostCost}
    assert kernel <= {what.value for what in HostCost}
    options = {field.name for field in fields(HostConfig)} - costs
    assert options == {
        "pio_threshold", "pinned_cache_pages", "pages_per_entry", "watchdog", "ask_first", "host_matching",
        "pio_when_empty", "semaphore",
    }  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_a_host_is_a_list_of_prices(name):
    host = PRESETS[name]()
    costs = HostCosts(**{field.name: getattr(host, field.name) for field in fields(HostCosts)})
    assert [costs.price(what, 3) for what in HostCost] == [host.price(what, 3) for what in HostCost]


@pytest.mark.parametrize("name", PRESETS)
def test_all_hosts_search_lists_as_the_mpis_of_the_1990s_did(name):
    assert PRESETS[name]().queue is Queue.LIST


@pytest.mark.parametrize("name", PRESETS)
def test_only_the_hosts_of_mbcf_have_a_kernel_that_does_an_adapters_work(name):
    assert (PRESETS[name]().kernel == KernelCosts()) == (name != "supersparc_85")


def test_a_kernels_work_is_priced_by_its_own_table():
    host = HostConfig(kernel=KernelCosts(arrival=7), call=2)
    assert (host.price(HostCost.ARRIVAL, 3), host.price(HostCost.CALL, 3)) == (21, 6)


def test_bad_values_are_quoted():
    with pytest.raises(UserError, match=r"KernelCosts\.take=-1 must be a whole number from 0"):
        KernelCosts(take=-1)
    with pytest.raises(UserError, match=r"HostCosts\.call=-1 must be a whole number from 0"):
        HostCosts(call=-1)
    with pytest.raises(UserError, match=r"HostConfig\.watchdog=-5 must be a whole number from 0"):
        HostConfig(watchdog=-5)
    with pytest.raises(UserError, match="HostCosts has no parameter 'watchdog'"):
        HostCosts().but(watchdog=1)
