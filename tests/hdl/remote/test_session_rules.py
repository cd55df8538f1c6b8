"""The rules of sessions, without their gateware: all that two nodes may do over any wire, to the end.

A sender has requests, a receiver carries them out. The wire keeps every packet that was ever sent and
may give any of them at any time, or none. Either node may be reset at any time, and the sender's host may
open sessions. This is a model of its own, for what takes the gateware too many slots to prove.
"""

from dataclasses import dataclass, fields, replace

import pytest

from lanai_hdl.remote.packets import BOOT_BITS, SESSION_BITS

MODULUS = 1 << SESSION_BITS
BOOTS = 1 << (BOOT_BITS - 1)  # a packet has a boot's lower bits
UNKNOWN = -1  # a boot
NUMBERS = 16  # sequence numbers


@dataclass(frozen=True)
class Limits:
    """The limits of how often things may happen. `sessions`: numbers that the sender takes at a reset.
    `first`: requests that the sender had sent before its receiver was powered up alone. `voids`: a request may
    fail at its source, before it is sent or behind that; then a NOP goes in its place. `quiet`: these requests are
    answered only if they are refused; the receiver may refuse any. `window`: so many may be outstanding, and so many of
    the last ones are answered again."""

    requests: int
    sender_resets: int = 0
    receiver_resets: int = 0
    opens: int = 0
    sessions: int = 1
    first: int = 0
    voids: bool = False
    quiet: tuple = ()
    window: int = 4

    def __str__(self):
        return "-".join(str(getattr(self, one.name)) for one in fields(self))


@dataclass(frozen=True)
class Rules:
    """The rules of sessions. A test may leave one out."""

    receiver_names_its_boot: bool = True
    sessions_are_compared: bool = True
    old_sessions_are_dropped: bool = True
    answers_name_the_session: bool = True
    other_boots_end_the_session: bool = True
    clashes_are_mended: bool = True
    numbers_begin_with_the_session: bool = True
    stand_ins_are_told: bool = True
    refusals_are_remembered: bool = True
    refusals_are_remembered_for_a_window: bool = True
    stand_ins_are_remembered: bool = True
    a_window_is_outstanding: bool = True
    answers_vouch_for_quiet_requests_alone: bool = True


RULES = Rules()


@dataclass(frozen=True)
class State:
    """`boot`: the receiver's, as the sender knows it; both begin with boot 1. `outstanding`: (sequence,
    request) of each, oldest first. `sent` and `answers`: all packets that there ever were. `done`:
    requests as they were carried out. `well`: those that ended so."""

    # the sender
    newest: int = 1
    session: int = 1
    boot: int = 1
    sequence: int = 0
    gone: bool = False
    outstanding: tuple = ()
    void: frozenset = frozenset()
    # the receiver
    own_boot: int = 1
    kept: int | None = None
    expected: int = 0
    doubt: int = 0  # requests in whose answers a quiet one that was refused, or a NOP, is not vouched for
    # the wires, and what has happened
    sent: frozenset = frozenset()
    answers: frozenset = frozenset()
    begun: int = 0
    passed: frozenset = frozenset()  # requests in whose place a NOP was taken, or that were refused
    done: tuple = ()
    well: frozenset = frozenset()
    ill: frozenset = frozenset()
    past: tuple = (0, 0, 0)  # resets of the sender, of the receiver, sessions opened


def newer(session, other):
    return 0 < (session - other) % MODULUS < MODULUS // 2


def steps(state, limits, rules):
    yield from sender_steps(state, limits, rules)
    yield from receiver_steps(state, limits, rules)


def sender_steps(state, limits, rules):
    room = len(state.outstanding) < limits.window or not rules.a_window_is_outstanding
    if state.begun < limits.requests and not state.gone and room:
        outstanding = (*state.outstanding, (state.sequence, state.begun))
        yield replace(state, begun=state.begun + 1, sequence=state.sequence + 1, outstanding=outstanding)
    for sequence, request in state.outstanding:
        packet = state.session, state.boot, sequence % NUMBERS, request, request in state.void
        if packet not in state.sent:
            yield replace(state, sent=state.sent | {packet})
        if limits.voids and request not in state.void:
            yield replace(state, void=state.void | {request})
    if state.outstanding and not state.gone:  # no answer for too long
        yield replace(state, gone=True)
    for answer in state.answers:
        yield from answered(state, answer, limits, rules)
    sender, receiver, opened = state.past
    if sender < limits.sender_resets:
        newest = state.newest + limits.sessions
        outlives = limits.sessions < MODULUS // 2
        yield replace(
            state, sent=state.sent if outlives else frozenset(), answers=state.answers if outlives else frozenset(),
            newest=newest, session=newest % MODULUS, boot=UNKNOWN, sequence=0, gone=False, outstanding=(),
            past=(sender + 1, receiver, opened),
        )  # fmt: skip
    if state.gone and opened < limits.opens:  # what was outstanding has ended as LOST
        newest = state.newest + 1
        yield replace(
            state, newest=newest, session=newest % MODULUS, boot=UNKNOWN, sequence=0, gone=False, outstanding=(),
            past=(sender, receiver, opened + 1),
        )  # fmt: skip


def answered(state, answer, limits, rules):
    """The sender takes an answer."""
    session, boot, sequence, told, well, vouches = answer
    if rules.answers_name_the_session and (session, boot) != (state.session, state.boot):
        return
    if told is None:
        numbers = [number % NUMBERS for number, _ in state.outstanding]
        if sequence in numbers:
            at = numbers.index(sequence)
            *before, request = (request for _, request in state.outstanding[: at + 1])
            are_quiet = set(before) <= set(limits.quiet) or not rules.answers_vouch_for_quiet_requests_alone
            if not before or (vouches and are_quiet):
                yield replace(
                    state, outstanding=state.outstanding[at + 1 :],
                    well=state.well | {*before, *([request] if well else [])},
                    ill=state.ill | {*([] if well else [request])},
                )  # fmt: skip
        return
    own_boot, kept = told
    if state.boot == UNKNOWN or not rules.other_boots_end_the_session:
        clashes = kept is not None and not newer(state.session, kept) and rules.clashes_are_mended
        session = (kept + 1) % MODULUS if clashes else state.session
        newest = state.newest + (session - state.newest) % MODULUS if clashes else state.newest
        yield replace(state, boot=own_boot, session=session, newest=newest)
    elif not state.gone:
        yield replace(state, gone=True)


def receiver_steps(state, limits, rules):
    for packet in state.sent:
        for refuses in (False, True) if limits.quiet else (False,):
            yield from received(state, packet, limits, rules, refuses)
    sender, receiver, opened = state.past
    if receiver < limits.receiver_resets:
        yield replace(
            state,
            own_boot=(state.own_boot + 1) % BOOTS,
            kept=None,
            expected=0,
            doubt=0,
            past=(sender, receiver + 1, opened),
        )


def received(state, packet, limits, rules, refuses):
    """The receiver gets a request, and refuses it if it is the next one and `refuses`."""
    session, boot, sequence, request, void = packet
    if rules.receiver_names_its_boot and boot != state.own_boot:
        told = state.own_boot, state.kept
        yield replace(state, answers=state.answers | {(session, boot, sequence, told, False, False)})
        return
    known, expected, doubt = state.kept, state.expected, state.doubt
    if rules.sessions_are_compared and session != known:
        if known is not None and not newer(session, known) and rules.old_sessions_are_dropped:
            return
        known, expected, doubt = session, 0, 0
    behind = (expected - sequence) % NUMBERS
    if behind > limits.window or (behind > expected and rules.numbers_begin_with_the_session):
        return
    passed, done, vouches = state.passed, state.done, doubt == 0
    if behind == 0:
        expected, doubt = expected + 1, max(doubt - 1, 0)
        if void or refuses:
            passed = passed | {request}
        else:
            done = (*done, request)
        refused = refuses and not void and request in limits.quiet and rules.refusals_are_remembered
        if refused or (void and rules.stand_ins_are_remembered):
            doubt = limits.window - (not rules.refusals_are_remembered_for_a_window)
    well = request not in passed or not (rules.stand_ins_are_told or refuses)
    answers = state.answers | {(session, boot, sequence, None, well, vouches)}
    if behind == 0 and request in limits.quiet and well and vouches:
        answers = state.answers
    yield replace(state, kept=known, expected=expected, doubt=doubt, done=done, passed=passed, answers=answers)


def check(state):
    assert len(set(state.done)) == len(state.done), "carried out twice"
    assert list(state.done) == sorted(state.done), "out of order"
    assert state.well <= set(state.done), "ended well, and was not carried out"
    assert not state.ill & set(state.done), "ended as refused, and was carried out"


def explore(limits, rules=RULES):
    """All states that there may be."""
    first = State(sequence=limits.first)
    seen, waiting = {first}, [first]
    while waiting:
        for state in steps(waiting.pop(), limits, rules):
            if state not in seen:
                check(state)
                seen.add(state)
                waiting.append(state)
    return seen


def ends_well_behind(states, limits):
    """The last request may end well behind all that may happen."""
    most = limits.sender_resets, limits.receiver_resets, limits.opens
    return any(state.begun - 1 in state.well and state.past == most for state in states)


SMALL = [
    Limits(requests=3, sender_resets=1),
    Limits(requests=2, receiver_resets=1, opens=1),
    Limits(requests=2, sender_resets=1, receiver_resets=1),
    Limits(requests=2, sender_resets=2, opens=1),
    Limits(requests=3, opens=1, first=NUMBERS - 1),
    Limits(requests=2, opens=1, voids=True),
    Limits(requests=3, quiet=(1,)),
    Limits(requests=3, quiet=(0, 1)),
    Limits(requests=2, sender_resets=1, quiet=(0,)),
    Limits(requests=2, receiver_resets=1, opens=1, quiet=(0,)),
    Limits(requests=5, quiet=(0, 1, 2), window=2),
    Limits(requests=2, voids=True, quiet=(0,)),
    Limits(requests=3, voids=True, quiet=(0, 1), window=2),
]
LARGE = [
    Limits(requests=3, receiver_resets=1, opens=1),
    Limits(requests=3, sender_resets=1, receiver_resets=1),
    Limits(requests=2, sender_resets=1, receiver_resets=1, opens=1),
    Limits(requests=2, sender_resets=2, receiver_resets=1),
    Limits(requests=2, sender_resets=1, receiver_resets=2),
]


@pytest.mark.parametrize("limits", [*SMALL, *(pytest.param(one, marks=pytest.mark.ci) for one in LARGE)], ids=str)
def test_nothing_is_doubled_or_ends_well_that_was_not_carried_out(limits):
    states = explore(limits)
    if limits.opens or not limits.receiver_resets:
        assert ends_well_behind(states, limits)


@pytest.mark.parametrize("sessions", [1, 7, 8, 15, 16, 17])
def test_a_sender_that_was_reset_often_without_a_word_is_heard(sessions):
    """Packets do not outlive so many resets."""
    limits = Limits(requests=3, sender_resets=1, sessions=sessions)
    assert ends_well_behind(explore(limits), limits)


NEEDED = {
    "receiver_names_its_boot": Limits(requests=1, receiver_resets=1),
    "sessions_are_compared": Limits(requests=2, sender_resets=1),
    "old_sessions_are_dropped": Limits(requests=2, sender_resets=1),
    "answers_name_the_session": Limits(requests=2, sender_resets=1),
    "other_boots_end_the_session": Limits(requests=1, receiver_resets=1),
    "clashes_are_mended": Limits(requests=2, sender_resets=1, sessions=16),
    "numbers_begin_with_the_session": Limits(requests=1, first=NUMBERS - 1),
    "stand_ins_are_told": Limits(requests=1, voids=True),
    "refusals_are_remembered": Limits(requests=2, quiet=(0,)),
    "refusals_are_remembered_for_a_window": Limits(requests=3, quiet=(0,), window=2),
    "stand_ins_are_remembered": Limits(requests=2, voids=True, quiet=(0,)),
    "a_window_is_outstanding": Limits(requests=4, quiet=(0,), window=2),
    "answers_vouch_for_quiet_requests_alone": Limits(requests=3, quiet=(1,)),
}


@pytest.mark.parametrize("rule", NEEDED)
def test_no_rule_is_idle(rule):
    with pytest.raises(AssertionError, match=r"carried out|out of order"):
        explore(NEEDED[rule], replace(RULES, **{rule: False}))
