"""`lanai bench message`: the parts of a message's CPU time."""

import argparse

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies.benches import message


@pytest.mark.ci
def test_the_parts_make_the_whole(monkeypatch):
    monkeypatch.setattr(message, "ROUNDS", 2)
    figures = message.run(argparse.Namespace(sizes=[4], messages=1000))
    parts = {name: figures[f"message.cpu_us.4.{name}"] for name in message.PARTS}
    assert figures["message.cpu_us.4"] == pytest.approx(sum(parts.values()))
    assert figures["message.cpu_us.4.outside"] == pytest.approx(figures["message.cpu_us.4"] - parts["engine"])
    assert parts["engine"] > 10  # hundreds of cycles of two NICs
    assert parts["simulator"] > 0
    assert 1 < figures["message.entries.4"] < 100


@pytest.mark.parametrize(("sizes", "messages", "words"), [([4, -1], 5, "--sizes -1"), ([4], 0, "--messages 0")])
def test_bad_numbers_are_refused(sizes, messages, words):
    with pytest.raises(UserError, match=f"{words} is too small"):
        message.run(argparse.Namespace(sizes=sizes, messages=messages))
