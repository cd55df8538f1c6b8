"""The prices of host work, apart from the choices of the drivers of NICs."""

import json
import os
import re
import subprocess
import sys
import time
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lanai_hdl.errors import UserError
from lanai_host import plain, real_time
from lanai_host.abi.programs import environment
from lanai_host.config import PRESETS, HostConfig, HostCost, HostCosts, KernelCosts, Queue
from lanai_host.connect import LAUNCHERS, foreign_launcher
from lanai_host.orders import ALL, DONE, LAST, MATCH, PLAN, SEND, WAITS, Choice, Orders, orders_of, record_file


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


# A program started by another launcher: a world of one rank that says so once.


PROGRAM = "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"


@pytest.mark.parametrize(("size", "rank"), LAUNCHERS)
def test_the_first_process_of_another_launcher_tells(size, rank):
    text = foreign_launcher({size: "4", rank: "0"})
    assert f"{size}=4" in text
    assert "lanai run -n 4 PROGRAM" in text
    assert foreign_launcher({size: "4", rank: "1"}) is None
    assert foreign_launcher({size: "1", rank: "0"}) is None
    assert foreign_launcher({size: "", rank: ""}) is None


def test_a_program_by_itself_is_told_nothing():
    assert foreign_launcher({}) is None


@pytest.mark.parametrize(("rank", "told"), [("0", 1), ("1", 0)])
def test_it_is_said_once_on_stderr(rank, told):
    variables = {
        **os.environ,
        **environment(Path(sys.executable)),
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": rank,
    }
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, timeout=500, check=True
    )
    assert answer.stdout == "1\n"
    assert answer.stderr.count("OMPI_COMM_WORLD_SIZE=2: another launcher has started 2 processes") == told


# The choices of a rank: planned, preferred and recorded.


@pytest.fixture
def orders(tmp_path):
    def made(*plan, rank=0):
        (tmp_path / PLAN).write_text(json.dumps(plan))
        return Orders(tmp_path, rank)

    return made


def test_a_plan_names_choices_by_rank_kind_and_number(orders):
    plan = (Choice(0, MATCH, 1, 2), Choice(1, MATCH, 0, 3))
    ours = orders(*plan)
    assert ours.planned(MATCH) is None
    ours.made(MATCH, 1, [1, 2])
    assert ours.planned(MATCH) == 2
    assert orders(*plan, rank=1).planned(MATCH) == 3


@pytest.mark.parametrize(("value", "taken"), [(None, 4), (2, 2), (9, 4), (LAST, 3)])
def test_a_sender_may_be_preferred_for_all_matches(orders, value, taken):
    plan = [] if value is None else [Choice(ALL, MATCH, ALL, value)]
    assert orders(*plan).preferred([4, 2, 3]) == taken


def test_one_send_or_all_of_them_wait(orders):
    one = orders(Choice(0, SEND, 1, WAITS))
    assert [one.waits(1, 0) for _ in range(3)] == [False, True, False]
    every = orders(Choice(ALL, SEND, ALL, WAITS), rank=5)
    assert every.waits(1, 0)
    assert every.waits(1, 0)


def test_a_completion_gives_the_first_or_all_unless_planned(orders):
    assert orders().one_of("MPI_Waitany", [3, 5]) == 3
    assert orders().one_of("MPI_Waitsome", [3, 5], several=True) == ALL
    assert orders(Choice(0, DONE, 0, 5)).one_of("MPI_Waitany", [3, 5]) == 5


def test_what_could_not_be_followed_is_recorded(orders, tmp_path):
    ours = orders(Choice(0, DONE, 0, 7))
    assert ours.one_of("MPI_Waitany", [3, 5]) == 3
    ours.late(0, 4, 2)
    done, late = map(json.loads, record_file(tmp_path, 0).read_text().splitlines())
    assert (done["v"], done["of"], done["missed"]) == (3, [3, 5], 7)
    assert (late["n"], late["of"]) == (0, 4)


def test_without_the_variable_nothing_is_explored(monkeypatch):
    monkeypatch.delenv("LANAI_ORDERS", raising=False)
    assert orders_of(0) is None


# The library goes by real time though the clocks of its process may be simulated.

CLOCK = re.compile(r"(?<!real_)\btime\.(time|monotonic|perf_counter|sleep)(_ns)?\(")
NOT_IN_RANKS = {"bus/serial.py"}  # a board is not a simulation


def test_real_time_passes():
    begun, before = real_time.monotonic(), time.monotonic()
    real_time.sleep(0.02)
    assert real_time.monotonic() - begun >= 0.02
    assert abs(before - begun) < 1


def test_the_library_reads_no_clock_that_may_be_simulated():
    root = Path(str(files("lanai_host")))
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if CLOCK.search(path.read_text())}
    assert found == NOT_IN_RANKS
