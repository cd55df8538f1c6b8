"""What host work costs is apart from how the drivers of NICs choose."""

from dataclasses import fields

import pytest

from lanai_hdl.errors import UserError
from lanai_host.config import PRESETS, HostConfig, HostCost, HostCosts


def test_every_kind_of_work_has_a_price_and_the_options_of_drivers_have_none():
    costs = {field.name for field in fields(HostCosts)}
    assert costs >= {what.value for what in HostCost}
    options = {field.name for field in fields(HostConfig)} - costs
    assert options == {
        "pio_threshold", "pinned_cache_pages", "pages_per_entry", "watchdog", "ask_first", "host_matching",
    }  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_a_host_is_a_list_of_prices(name):
    host = PRESETS[name]()
    costs = HostCosts(**{field.name: getattr(host, field.name) for field in fields(HostCosts)})
    assert [costs.price(what, 3) for what in HostCost] == [host.price(what, 3) for what in HostCost]


def test_bad_values_are_quoted():
    with pytest.raises(UserError, match=r"HostCosts\.call=-1 must be a whole number from 0"):
        HostCosts(call=-1)
    with pytest.raises(UserError, match=r"HostConfig\.watchdog=-5 must be a whole number from 0"):
        HostConfig(watchdog=-5)
    with pytest.raises(UserError, match="HostCosts has no parameter 'watchdog'"):
        HostCosts().but(watchdog=1)
