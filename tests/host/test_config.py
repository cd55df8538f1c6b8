"""The prices of host work, apart from the choices of the drivers of NICs."""

import json
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import pytest

from lanai_hdl.errors import UserError
from lanai_host import plain
from lanai_host.config import PRESETS, HostConfig, HostCost, HostCosts, KernelCosts, Queue


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


# The JSON between processes: an object comes back as it was.


class Spot(NamedTuple):
    node: int
    process: int


@dataclass(frozen=True)
class Inner:
    sizes: tuple[int, ...]
    name: str | None = None


@dataclass(frozen=True)
class Outer:
    number: int
    spots: tuple[Spot, ...]
    inner: Inner
    rest: Mapping[str, Any]


OUTER = Outer(3, (Spot(1, 2), Spot(3, 4)), Inner((5, 6)), {"list": [1, 2]})


def test_an_object_comes_back_as_it_was():
    back = plain.restored(Outer, json.loads(json.dumps(asdict(OUTER))))
    assert back == OUTER
    assert isinstance(back.spots[0], Spot)
    assert isinstance(back.inner, Inner)
    assert isinstance(back.inner.sizes, tuple)


@pytest.mark.parametrize(("change", "words"), [({"more": 1}, "'more'"), ({"number": None}, "'number'")])
def test_a_field_too_many_or_too_few_is_refused(change, words):
    values = {**asdict(OUTER), **change}
    values = {name: value for name, value in values.items() if value is not None}
    with pytest.raises(TypeError, match=words):
        plain.restored(Outer, values)


def test_the_types_of_a_class_are_looked_up_once(monkeypatch):
    looked_up = []

    def get_type_hints(kind):
        looked_up.append(kind)
        return typing.get_type_hints(kind)

    class Seat(NamedTuple):
        row: int
        name: str | None
        spots: tuple[Spot, ...]

    @dataclass(frozen=True)
    class Hall:
        seats: tuple[Seat, ...]

    monkeypatch.setattr(plain, "get_type_hints", get_type_hints)
    hall = Hall(tuple(Seat(row, None if row % 2 else "aisle", (Spot(row, 0),)) for row in range(100)))
    for _ in range(2):
        assert plain.restored(Hall, json.loads(json.dumps(asdict(hall)))) == hall
    assert sorted(kind.__name__ for kind in looked_up if kind is not Spot) == ["Hall", "Seat"]


def test_a_table_with_an_element_too_few_is_refused():
    values = json.loads(json.dumps(asdict(OUTER)))
    values["spots"][1].pop()
    with pytest.raises(TypeError, match="Expected 2 arguments, got 1"):
        plain.restored(Outer, values)
