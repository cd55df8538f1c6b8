"""The protocol under many orders of events: nothing lost, doubled, overtaken or stuck (NP-08,
NP-23, NP-G2, NP-G9)."""

import hashlib
import random
from collections import Counter

import pytest
from pairs import in_turn

from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Kind, Type
from lanai_firmware.programs.mpi_np.plan import McpConfig

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
    """NP-23: the receive is posted while the announcement is on its way; synchronous, so always
    announced."""
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
    """A receive is cancelled that may have asked for a message; another one takes what it
    leaves."""
    a, b = rig.hosts
    for n in range(1, 7):
        a.send(n, n % 2, body(n), long=n % 3 == 0)
    b.receive(7, 1)
    b.cancel(8, 7)
    for n in range(1, 7):
        b.receive(n, n % 2)

    def outcome():
        """The receive has the first message with its tag if the cancel came too late, and one
        receive is left without."""
        met = [r["kind"] for r in b.records() if r["operation"] == 8] == [Kind.NOT_CANCELLED]
        return {7: 1, 1: 3, 3: 5} if met else {1: 1, 3: 3, 5: 5}

    return {1: lambda: {2: 2, 4: 4, 6: 6} | outcome()}


SCRIPTS = {"twins": twins, "crossing": crossing, "crowd": crowd, "withdrawn": withdrawn}
BUFFERED = SMALL.but(send_buffer=1088, eager_limit=512, cut_through=0)
CONFIGS = {"credit": SMALL, "unpaid": UNPAID, "rendezvous": RENDEZVOUS, "buffered": BUFFERED}


def settled(wanted):
    """Return what each host's receives should have got, where that depends on earlier events."""
    return {number: receives() if callable(receives) else receives for number, receives in wanted.items()}


def check(script, config, choose, ask=False):
    rig = Rig(config)
    for host in rig.hosts:
        host.asks = ask
    wanted = script(rig)
    rig.run(choose)
    judge(rig, wanted)


def judge(rig, wanted):
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


class Orders:
    """Orders of events that differ from taking turns in given places.

    From the last of those places on an order is determined by where it stands. So one that comes to
    a state in which an earlier order was, after as many events, would go on as that did: it is not
    followed further. Nothing is assumed of what events do to each other.
    """

    LOOK = 4  # events from one look at the state to the next

    def __init__(self, script, config):
        self.script, self.config = script, config
        self.seen = set()
        self.followed = self.cut = 0

    def follow(self, places):
        """Go one order: at event `step` not the one whose turn it is but the `places[step]`-th
        after it. How many could have happened each time."""
        rig = Rig(self.config)
        wanted = self.script(rig)
        last, choices = max(places, default=-1), []
        self.followed += 1
        while actions := rig.actions():
            step = len(choices)
            assert step < 5000, "the NICs still move after 5000 steps"
            rig.act(actions[(step + places.get(step, 0)) % len(actions)])
            choices.append(len(actions))
            if step >= last and step % self.LOOK == 0:
                state = (step, self.state(rig))
                if state in self.seen:
                    self.cut += 1
                    return choices
                self.seen.add(state)
        judge(rig, wanted)
        return choices

    @staticmethod
    def state(rig):
        """Everything on which what happens next depends, and what is judged at the end."""
        digest = hashlib.blake2b(digest_size=16)
        for nic in rig.fabric.nics:
            digest.update(nic.machine.sram)
            plain = [value for name, value in sorted(vars(nic).items()) if name not in ("machine", "memory")]
            digest.update(repr(plain).encode())
        for host in rig.hosts:
            for memory in (host.ring, host.table, host.body):
                digest.update(memory)
            digest.update(repr((host.slot, len(host.script))).encode())
        digest.update(repr((sorted(rig.fabric.wires.items()), sorted(Counter(rig.packets).items()))).encode())
        return digest.digest()


@pytest.mark.parametrize(("script", "config"), in_turn(SCRIPTS, CONFIGS))
def test_random_orders(script, config):
    for seed in range(15):
        check(SCRIPTS[script], CONFIGS[config], random.Random(seed).randrange)


@pytest.mark.parametrize(("script", "config"), in_turn(SCRIPTS, CONFIGS))
def test_random_orders_with_questions(script, config):
    """NP-22: receives ask for messages that are not announced."""
    for seed in range(6):
        check(SCRIPTS[script], CONFIGS[config], random.Random(seed).randrange, ask=True)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_many_orders(script, config):
    """Every order with one event out of turn, as many with two, and two hundred random ones."""
    dice = random.Random(1)
    orders = Orders(SCRIPTS[script], CONFIGS[config])
    for step, count in enumerate(orders.follow({})):
        for places in range(1, count):
            choices = orders.follow({step: places})
            second = dice.randrange(step, step + 40)
            if second != step and second < len(choices):
                orders.follow({step: places, second: dice.randrange(1, 4)})
    assert orders.followed > 80, "the script has too few events to tell anything"
    for seed in range(200):
        check(SCRIPTS[script], CONFIGS[config], random.Random(seed).randrange)


def test_an_order_cut_short_would_have_gone_on_alike():
    """An order that `Orders` leaves out ends like one that it followed: the same places with and without
    cutting."""
    orders = Orders(twins, SMALL)
    places = [{step: 1} for step in range(0, 24, 6)]
    for each in [{}, *places]:
        orders.follow(each)
    assert orders.cut > 0
    for each in places:
        Orders(twins, SMALL).follow(each)
