"""The protocol under many orders of events: nothing lost, doubled, overtaken or stuck (NP-08, NP-23, NP-G2, NP-G9)."""

import random

import pytest

from lanai_firmware.mcp.layout import ANY, NO_TAG, Kind, Type
from lanai_firmware.mcp.plan import McpConfig

from .rig import SMALL, Rig

UNPAID = McpConfig(messages=4, receives=8, any_receives=2, ack_slots=1, inline_bytes=256, unpaid_limit=129)
RENDEZVOUS = McpConfig(messages=4, receives=8, any_receives=2, ack_slots=1, inline_bytes=256, eager_limit=0)


def body(number):
    return bytes([number]) * (20 + number)


def twins(rig):
    """NP-G2: two messages with one envelope, two receives; and an answer the other way."""
    a, b = rig.hosts
    for n in (1, 2):
        a.send(n, 7, body(n), long=n == 2)
        b.receive(n, 7)
    b.send(3, 1, body(3))
    a.receive(3, 1)
    return {1: {1: 1, 2: 2}, 0: {3: 3}}


def crossing(rig):
    """NP-23: the receive is posted while the announcement is on its way; synchronous, so always announced."""
    a, b = rig.hosts
    a.send(1, 7, body(1), sync=True)
    a.send(2, 8, body(2), sync=True)
    b.receive(2, 8)
    b.receive(1, 7)
    return {1: {1: 1, 2: 2}}


def crowd(rig):
    """More messages than the channel has slots; wildcards take the last ones."""
    a, b = rig.hosts
    for n in range(1, 7):
        a.send(n, n % 2, body(n), long=n % 3 == 0)
    for n in range(1, 5):
        b.receive(n, n % 2)
    b.receive(5, int(NO_TAG), peer=int(ANY))
    b.receive(6, int(NO_TAG), peer=int(ANY))
    return {1: {n: n for n in range(1, 7)}}


def withdrawn(rig):
    """A receive is cancelled that may have asked for a message; another one takes what it leaves."""
    a, b = rig.hosts
    for n in range(1, 7):
        a.send(n, n % 2, body(n), long=n % 3 == 0)
    b.receive(7, 1)
    b.cancel(8, 7)
    for n in range(1, 7):
        b.receive(n, n % 2)

    def outcome():
        """If the cancel came too late the receive has the first message with its tag, and one receive is left without."""
        met = [r["kind"] for r in b.records() if r["operation"] == 8] == [Kind.NOT_CANCELLED]
        return {7: 1, 1: 3, 3: 5} if met else {1: 1, 3: 3, 5: 5}

    return {1: lambda: {2: 2, 4: 4, 6: 6} | outcome()}


SCRIPTS = {"twins": twins, "crossing": crossing, "crowd": crowd, "withdrawn": withdrawn}
CONFIGS = {"credit": SMALL, "unpaid": UNPAID, "rendezvous": RENDEZVOUS}


def settled(wanted):
    """What each host's receives should have got, where that depends on what happened."""
    return {number: receives() if callable(receives) else receives for number, receives in wanted.items()}


def check(script, config, choose, ask=False):
    rig = Rig(config)
    for host in rig.hosts:
        host.asks = ask
    wanted = script(rig)
    rig.run(choose)
    wanted = settled(wanted)
    for number, receives in wanted.items():
        host = rig.hosts[number]
        records = [r for r in host.records() if r["kind"] is Kind.RECEIVED]
        assert sorted(r["operation"] for r in records) == sorted(receives), "a receive is not done, or done twice"
        for receive, message in receives.items():
            assert host.page(receive, 20 + message) == body(message), f"receive {receive} has another message's bytes"
    bodies = sum(1 for _, kind in rig.packets if kind in (Type.EAGER, Type.EAGER_UNPAID, Type.ANSWER))
    dropped = sum(1 for _, kind in rig.packets if kind == Type.DROPPED)
    assert bodies == sum(map(len, wanted.values())) + dropped, "a body was sent twice"


class Deviate:
    """Each choice in turn, but for the given places."""

    def __init__(self, places):
        self.places, self.step = places, -1

    def __call__(self, count):
        self.step += 1
        return self.places.get(self.step, self.step) % count


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_random_orders(script, config):
    for seed in range(15):
        check(SCRIPTS[script], CONFIGS[config], random.Random(seed).randrange)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_random_orders_with_questions(script, config):
    """NP-22: receives ask for messages that are not announced."""
    for seed in range(6):
        check(SCRIPTS[script], CONFIGS[config], random.Random(seed).randrange, ask=True)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_many_orders(script, config):
    """Every order with one event out of turn, many with two, and two hundred random ones."""
    dice = random.Random(1)
    for step in range(120):
        for choice in (1, 2, 3):
            check(SCRIPTS[script], CONFIGS[config], Deviate({step: choice}))
            check(SCRIPTS[script], CONFIGS[config], Deviate({step: choice, dice.randrange(120): dice.randrange(1, 4)}))
    for seed in range(200):
        check(SCRIPTS[script], CONFIGS[config], random.Random(seed).randrange)
