"""Each rule that keeps packets whole and in order has a test that fails without it: the same tests on a
ring with one line changed."""

import inspect

import pytest
from tests.hdl import wire

from lanai_hdl.ring import inserter, sends, stripper
from lanai_hdl.ring.inserter import Inserter
from lanai_hdl.ring.sends import Sends
from lanai_hdl.ring.stripper import Stripper

from .test_ring import played, small

PARTS = {Sends: sends, Stripper: stripper, Inserter: inserter}
ENOUGH = 1500  # slots; a sound ring takes 700
TRAFFIC = [
    (small(2, receives=1, sends=4, hop=6), 6, 1, {"stop": 0.85}),
    (small(3, receives=2, hold_after=4), 3, 1, {"gap": 0.1}),
]

FREES = "with m.Else():\n                m.d.sync += held"
MUTANTS = [  # (part, what is changed, a line of it, the line instead)
    (Sends, "overtakes what is refused", " & ~waiting.any()", ""),
    (Sends, "a refused packet does not hold the others", "1).eq(self.busy)", "1).eq(0)"),
    (Sends, "a refused packet is not sent again", "refused.bit_select(self.place, 1).eq(1)", "at.eq(at)"),
    (Sends, "a refused packet is freed", FREES, FREES.replace("with m.Else()", "if True")),
    (Sends, "a taken place is filled", "~held.bit_select(fill, 1) & ~reads", "~reads"),
    (Sends, "a packet is sent before all of it came", "with m.If(is_tail):", "with m.If(1):"),
    (Stripper, "takes packets in any order", "(~waits | (expected[head.source] == head.place))", "1"),
    (Stripper, "takes packets without room", "self.room & (~waits", "(~waits"),
    (Stripper, "forgets which was refused first", "with m.If(~waits):", "if True:"),
    (Stripper, "delivers what it refuses", "self.delivers.eq(~echo.busy)", "self.delivers.eq(1)"),
    (Inserter, "inserts while the bypass FIFO has something", "sends | (empty & opening)", "sends | opening"),
    (Inserter, "what passes leaves in the midst of its own", "old.ready.eq(~inserts & ~parts)", "old.ready.eq(1)"),
]  # fmt: skip


def mutate(monkeypatch, part, old, new):
    """Replace the methods of a part by those of its module with a line changed."""
    module = PARTS[part]
    text = inspect.getsource(module)
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {module.__name__}"
    names = dict(vars(module))
    exec(compile(text.replace(old, new), f"<mutant of {module.__name__}>", "exec"), names)
    for name, method in vars(names[part.__name__]).items():
        if inspect.isfunction(method) and name != "__init__":
            monkeypatch.setattr(part, name, method)


def fails():
    for config, count, seed, node in TRAFFIC:
        try:
            played(config, count, seed, **node)
        except (AssertionError, IndexError):
            return True
    return False


@pytest.mark.ci
@pytest.mark.parametrize(("part", "what", "old", "new"), MUTANTS, ids=[what for _, what, _, _ in MUTANTS])
def test_a_ring_without_the_rule_fails(monkeypatch, part, what, old, new):
    monkeypatch.setattr(wire, "WATCHDOG", ENOUGH)
    mutate(monkeypatch, part, old, new)
    assert fails(), f"no test sees a ring that {what}"


@pytest.mark.ci
def test_a_sound_ring_passes(monkeypatch):
    monkeypatch.setattr(wire, "WATCHDOG", ENOUGH)
    assert not fails()
