"""Mechanisms of the paper's device, by their ids, and its earlier versions: what each does that the others do not."""

import re
import sys
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_host.stacks.t3d.heap import T3dOptions, t3e

from .test_t3d import lanai

HERE = Path(__file__).parent
REORDER = ("--fault", "reorder * rate=0.2 seed=1 by=500us")


def program(name, *arguments, options=(), more=(), ranks=2):
    chosen = [word for option in options for word in ("--option", option)]
    here = [sys.executable, HERE / f"{name}.py", *arguments]
    return lanai("-q", "-n", ranks, "--device", "t3d", *chosen, *more, *here)


def wrong(run):
    """Messages with wrong bytes, over both ranks."""
    assert run.returncode == 0, run.stderr
    return sum(int(count) for count in re.findall(r"(\d+) of \d+ messages wrong", run.stdout))


def test_two_long_sends_and_a_wait_for_the_receive_first():
    """T3-15: the queue of unfinished long sends is visited in every wait."""
    run = program("two_long", "wait")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
def test_the_second_version_hangs_when_the_receive_is_waited_for_first():
    """T3-15: the report names both ranks. With tests it passes, for they visit all sends."""
    run = program("two_long", "wait", options=["unfinished=late"])
    assert run.returncode == 3
    for rank in (0, 1):
        assert f"rank {rank} waits for rank {1 - rank} in MPI_Wait" in run.stderr
    assert program("two_long", "test", options=["unfinished=late"]).returncode == 0


@pytest.mark.slow
def test_the_first_version_spins_in_the_send():
    """T3-15: MPI_Isend returns when the bytes have left, so there is nothing to overlap with."""
    spent = [
        int(
            re.fullmatch(r"Isend took (\d+) us\n", program("two_long", "wait", options=[f"unfinished={how}"]).stdout)[1]
        )
        for how in ("queue", "spin")
    ]
    assert spent[1] > 5 * spent[0]


@pytest.mark.slow
def test_with_the_status_first_messages_are_lost():
    """T3-08: the header lies in two lines; the first version sees the status before the rest."""
    late = ("--fault", "delay * rate=0.3 seed=2 by=20us")  # some packets come later, all in order
    last = program("wrong_bytes", 10, "4,900", more=late)
    first = program("wrong_bytes", 10, "4,900", options=["status=first"], more=late)
    assert wrong(last) == 0
    assert first.returncode != 0, "a message with another's tag or context never meets its receive"


@pytest.mark.slow
@pytest.mark.parametrize(("cache", "code"), [("line", 0), ("coherent", 0), ("off", 3)])
def test_without_invalidation_the_cache_hides_messages(cache, code):
    """T3-17: with `off`, a slot that was looked at once never changes, and all ranks wait."""
    assert program("wrong_bytes", 3, "4,9000", options=[f"cache={cache}"]).returncode == code


@pytest.mark.slow
def test_an_address_that_the_sender_has_not_is_an_operand_range_error():
    """T3-18: the receiver's buffer stands above all that the sender has."""
    run = program("one_way", options=["validation=refuse", "private=4096"])
    assert run.returncode != 0
    assert re.search(r"operand range error: rank 0 puts 200000 bytes to 0x[0-9a-f]+ of rank 1", run.stderr)
    assert program("one_way", options=["private=4096"]).stdout == "all there\n"


@pytest.mark.slow
@pytest.mark.parametrize("alignment", [1, 4, 8])
def test_every_alignment_brings_all_bytes(alignment):
    """T3-21: what puts cannot move goes through the own slot, or a temporary buffer."""
    lengths = "1,4,6,8,1001,1004,9001,9004,9008"
    assert wrong(program("wrong_bytes", 2, lengths, options=[f"alignment={alignment}"])) == 0


@pytest.mark.slow
def test_on_the_t3e_without_fences_messages_come_with_wrong_bytes():
    """T3-24:

    the network reorders. With fences nothing is wrong, without them something is; on the T3D it is an error.
    """
    fenced = program("wrong_bytes", 20, "500,9000", options=["preset=t3e"], more=REORDER)
    bare = program("wrong_bytes", 20, "500,9000", options=["preset=t3e", "fence=0"], more=REORDER)
    assert wrong(fenced) == 0
    assert wrong(bare) > 0
    t3d = program("wrong_bytes", 20, "500,9000", more=REORDER)
    assert "t3d has no recovery" in t3d.stderr


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"alignment": 2}, "T3dOptions.alignment=2 must be one of 1, 4, 8"),
        ({"cache": "on"}, "T3dOptions.cache='on' must be one of invalidate, line, off, coherent"),
        ({"unfinished": "never"}, "T3dOptions.unfinished='never' must be one of queue, late, spin"),
        ({"adaptive": 2}, "adaptive"),
    ],
)
def test_a_choice_that_is_none_is_refused(changes, text):
    with pytest.raises(UserError, match=re.escape(text)):
        T3dOptions(**changes)


def test_the_t3e_is_what_the_paper_says_of_it():
    """T3-24: coherent caches, no validation, puts that overtake each other."""
    chosen = t3e()
    assert (chosen.cache, chosen.validation, chosen.adaptive, chosen.fenced) == ("coherent", "none", 1, True)
    assert not T3dOptions().fenced
