"""The driver's choices: whatever they are, messages come whole and in order."""

import pytest

from lanai_firmware.programs.mpi_np.layout import Op
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_host.config import HostConfig, free
from lanai_host.errors import UserError
from lanai_host.operation import ANY_SOURCE, ANY_TAG
from lanai_host.stacks.mpi_np.endpoint import Endpoint

from .np_calls import SYNCHRONOUS, irecv, isend, pattern, recv, send, wait
from .np_world import World

SIZES = [0, 9, 1500, 9000, 40_000]


def program(device):
    """All sizes, early and late receives, both ways; the last receives take anything."""
    other = 1 - device.rank
    early = [irecv(device, other, size, tag=tag) for tag, size in enumerate(SIZES)]
    sent = [isend(device, other, pattern(size, tag), tag=tag) for tag, size in enumerate(SIZES)]
    sent += [isend(device, other, pattern(size, tag), tag=9 + tag, mode=SYNCHRONOUS) for tag, size in enumerate(SIZES)]
    wait(device, *early)
    assert [pair[1].data for pair in early] == [pattern(size, tag) for tag, size in enumerate(SIZES)]
    for tag, size in reversed(list(enumerate(SIZES))[1:]):
        assert recv(device, other, size, tag=9 + tag)[1] == pattern(size, tag)
    assert recv(device, ANY_SOURCE, 0, tag=ANY_TAG)[0].tag == 9
    wait(device, *sent)
    if device.rank:
        recv(device, 0, 0)
    else:
        send(device, 1, b"")


@pytest.mark.parametrize(
    "changes",
    [
        {"pages_per_entry": 1},
        {"host_matching": 1},
        {"pinned_cache_pages": 0},
        {"pio_threshold": 0},
        {"ask_first": 1},
        {"pio_when_empty": 1},
        {"semaphore": 1},
        {"pio_when_empty": 1, "semaphore": 1, "pinned_cache_pages": 0},
    ],
)
def test_any_choice_delivers(changes):
    """NP-22, NP-33, NP-41, NP-43, NP-45, NP-49, NP-54."""
    World(2, host=free().but(**changes)).run(program)


def test_matching_on_the_host_costs_its_time():
    """NP-33: the host compares envelopes, and the NIC has no receive posted."""

    def idle(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, b"x", tag=tag) for tag in range(10)])
        else:
            for tag in reversed(range(10)):
                recv(device, 0, 1, tag=tag)
        return device.bus.time

    costs = HostConfig(**{**vars(free()), "match": 1_000_000})
    assert World(2, host=costs).run(idle)[1] == 0
    assert World(2, host=costs.but(host_matching=1)).run(idle)[1] >= 10_000_000


@pytest.mark.parametrize(("empty", "written"), [(0, 10), (1, 1)])
def test_a_body_is_written_only_into_an_empty_channel(monkeypatch, empty, written):
    """NP-43: the sends before it are on the NIC, as nobody has posted a receive."""
    posted = []
    post = Endpoint.post

    def noted(endpoint, op, *arguments, **more):
        posted.append(op)
        return post(endpoint, op, *arguments, **more)

    monkeypatch.setattr(Endpoint, "post", noted)

    def program(device):
        if device.rank == 0:
            sends = [isend(device, 1, b"x", tag=tag) for tag in range(10)]
            counts.append(posted.count(Op.SEND_INLINE))
            wait(device, *sends)
            return
        for tag in reversed(range(10)):
            recv(device, 0, 1, tag=tag)

    counts = []
    World(2, config=McpConfig(eager_limit=0), host=free().but(pio_when_empty=empty)).run(program)
    assert counts == [written]


def test_a_semaphore_costs_two_system_calls_a_request():
    """NP-54."""

    def program(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, b"x", tag=tag) for tag in range(10)])
        else:
            for tag in range(10):
                recv(device, 0, 1, tag=tag)
        return device.bus.time

    costs = HostConfig(**{**vars(free()), "system_call": 1_000_000})
    assert World(2, host=costs).run(program) == [0, 0]
    assert World(2, host=costs.but(semaphore=1)).run(program) == [20_000_000, 20_000_000]


@pytest.mark.parametrize("count", [6, 8, 10, 12, 14, 16])
def test_no_message_is_slept_through(count):
    """A rank that is about to sleep asks once more for what has come. That may be what it waits for."""

    def program(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, b"x", tag=tag) for tag in range(count)])
            return
        for tag in reversed(range(count)):
            recv(device, 0, 1, tag=tag)

    host = HostConfig(**{**vars(free()), "match": 1_000_000}).but(host_matching=1)
    World(2, host=host).run(program)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, 2) for name in ("host_matching", "ask_first", "pio_when_empty", "semaphore")]
    + [("pages_per_entry", 0), ("pages_per_entry", 5)],
)
def test_bad_values_are_quoted(name, value):
    with pytest.raises(UserError, match=f"HostConfig.{name}={value} must be"):
        HostConfig().but(**{name: value})
