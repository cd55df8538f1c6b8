"""The graph of waits: its circles, and ranks that are waited for in vain."""

from dataclasses import replace

import pytest

from lanai_host.operation import Wait
from lanai_host.simulator.protocol import pack_wait, unpack_wait
from lanai_sim.job.waiting import RankState, describe_wait, explain, find_circle, find_stuck


def waiting(rank, *awaits, clock=0, call="MPI_Recv", place="a.py:1"):
    return RankState(rank, clock, "waits", Wait(call, awaits=awaits), place)


@pytest.mark.parametrize(
    ("awaits", "circle"),
    [
        ({0: [1], 1: [0]}, [0, 1]),
        ({0: [0]}, [0]),
        ({0: [1], 1: [2], 2: [1]}, [1, 2]),
        ({0: [1, 2], 1: [], 2: [0]}, [0, 2]),
        ({0: [1], 1: [2], 2: []}, []),
        ({0: [9]}, []),
        ({rank: [rank + 1] for rank in range(3000)}, []),
    ],
)
def test_circles_are_found(awaits, circle):
    assert find_circle(awaits) == circle


def test_the_wait_that_came_last_closed_the_circle():
    ranks = [
        waiting(0, 1, clock=5),
        waiting(1, 2, clock=9, place="b.py:7"),
        waiting(2, 0, clock=3),
        waiting(3, 0),
        waiting(4, 3),
    ]
    lines = explain(ranks)
    assert lines[1:4] == [
        "    rank 0 waits for rank 1 in MPI_Recv at a.py:1",
        "    rank 1 waits for rank 2 in MPI_Recv at b.py:7",
        "    rank 2 waits for rank 0 in MPI_Recv at a.py:1",
    ]
    assert (
        lines[4] == "  the last of them, which closed the circle at 9 ps: rank 1 waits for rank 2 in MPI_Recv at b.py:7"
    )
    assert lines[5] == "  2 more ranks wait for ranks of the circle"


def test_a_rank_that_has_left_is_waited_for_in_vain():
    lines = explain([waiting(0, 1), RankState(1, 0, "has finalized")])
    assert lines == ["  rank 0 waits in vain for rank 1: has finalized"]


def test_at_a_limit_only_those_are_stuck_that_no_rank_can_help():
    runs = RankState(2, 0, "runs code")
    any_of_two = RankState(0, 0, "waits", Wait("MPI_Recv", awaits=(1, 2), every=False))
    both = RankState(0, 0, "waits", Wait("MPI_Allreduce", awaits=(1, 2)))
    assert find_stuck([any_of_two, waiting(1, 0), runs]) == set()
    assert find_stuck([both, waiting(1, 0), runs]) == {0, 1}
    assert find_stuck([waiting(0, 1), waiting(1, 0), runs]) == {0, 1}
    assert find_stuck([waiting(0, 1), replace(waiting(1, 0), coming=True), runs]) == set()
    assert explain([any_of_two, waiting(1, 0), runs], deadlock=False) == []
    assert explain([waiting(0, 2), runs], deadlock=False) == []  # not in vain: it runs
    sure = [replace(waiting(rank, 1 - rank), coming=False) for rank in range(2)]
    assert explain([*sure, runs], deadlock=False)[0] == "  circle of waits:"
    unsure = [waiting(rank, 1 - rank) for rank in range(2)]
    assert explain([*unsure, runs], deadlock=False)[0] == "  circle of waits, unless a message is on its way:"


def in_collective(rank, number, *awaits, call="MPI_Bcast", note="", context=9):
    note = f"{note}collective {number} on MPI_COMM_WORLD"
    return RankState(rank, 0, "waits", Wait(call, None, None, context, note, awaits), "a.py:1")


def test_at_a_limit_nobody_waits_for_a_rank_that_has_passed_the_collective():
    behind, ahead = in_collective(0, 172, 1), in_collective(1, 175, 0)
    assert explain([behind, ahead], deadlock=False) == []
    assert len(explain([behind, ahead], deadlock=True)) == 4
    for other in (
        in_collective(1, 172, 0),
        in_collective(1, 175, 0, context=8),
        in_collective(1, 175, 0, call="MPI_Wait", note="for MPI_Ibcast, "),  # these are counted apart
        waiting(1, 0),
    ):
        assert len(explain([behind, other], deadlock=False)) == 3


def test_no_wait_closes_a_circle_unless_it_is_a_deadlock():
    ranks = [replace(waiting(rank, 1 - rank), coming=False) for rank in range(2)]
    assert [len([line for line in explain(ranks, how) if "closed" in line]) for how in (True, False)] == [1, 0]


def test_a_record_survives_the_wire():
    why = Wait("MPI_Recv", 1, 5, 3, "receive on é", (1, 2, 3), False, "a.py:3")
    assert unpack_wait(pack_wait(why)) == why
    assert unpack_wait(pack_wait(why)[:-2]).awaits == (1, 2)  # what does not fit is cut at the end
    assert unpack_wait(pack_wait(Wait("MPI_Barrier"))) == Wait("MPI_Barrier")


def test_no_internal_number_is_told():
    text = describe_wait(
        Wait("MPI_Bcast", None, None, 77, "collective 2 on MPI_COMM_WORLD", tuple(range(1, 12))), "a.py:3"
    )
    assert text == (
        "waits in MPI_Bcast at a.py:3, collective 2 on MPI_COMM_WORLD, for all of ranks 1, 2, 3, 4, 5, 6, 7, 8 "
        "and 3 more"
    )
