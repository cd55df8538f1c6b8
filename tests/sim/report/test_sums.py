"""The sums of time on a trace whose every stretch is known; they are exact."""

import pytest

from lanai_sim.report.activity import DMA, HOST, OUTSIDE, PEER, PIO, PROCESSOR, STALL, WIRE, Activity, Part
from lanai_sim.report.messages import NO_RECEIVE, MessageBook
from lanai_sim.report.ranks import by_group, rank_sums
from lanai_sim.report.rows import figures
from lanai_sim.trace import Trace

from .sample import NS, sample


@pytest.fixture
def trace() -> Trace:
    return sample()


def ns(split: dict[str, int]) -> dict[str, float]:
    return {group: time / NS for group, time in split.items()}


def test_each_rank_sums_to_its_run(trace: Trace) -> None:
    first, second = rank_sums(Activity(trace))
    assert ns(by_group(first.split)) == {OUTSIDE: 700, HOST: 100, PIO: 100, PROCESSOR: 100}
    assert ns(by_group(second.split)) == {
        OUTSIDE: 150, HOST: 90, PROCESSOR: 280, STALL: 20, DMA: 120, WIRE: 40, PEER: 300,
    }  # fmt: skip
    assert sum(first.split.values()) == first.total == 1000 * NS
    assert sum(second.split.values()) == second.total == 1000 * NS


def test_calls_sum_to_their_time(trace: Trace) -> None:
    first, second = rank_sums(Activity(trace))
    assert [(call.name, call.count, call.total / NS) for call in first.calls] == [("MPI_Send", 1, 300)]
    assert [(call.name, call.count, call.total / NS) for call in second.calls] == [("MPI_Recv", 1, 850)]


def test_a_call_that_never_ended_lasts_to_the_end(trace: Trace) -> None:
    trace.calls["end"][1] = -1
    assert rank_sums(Activity(trace))[1].calls[0].total == 950 * NS


def test_message_is_told_moment_by_moment(trace: Trace) -> None:
    message = MessageBook(Activity(trace)).one(0)
    assert [(part.group, part.detail, (end - begin) / NS) for part, begin, end in message.pieces] == [
        (HOST, "call", 100),
        (PIO, "pio write", 100),
        (PROCESSOR, "fw.poll", 100),
        (STALL, "fw.poll", 20),
        (PROCESSOR, "fw.send", 80),
        (DMA, "SRAM to link", 60),
        (WIRE, "", 40),
        (PROCESSOR, "fw.poll", 100),
        (DMA, "SRAM to host", 60),
        (PEER, "for its turn", 90),
        (HOST, "complete", 30),
    ]
    assert message.total == sum(message.split.values()) == 780 * NS


def test_a_late_receive_is_what_is_waited_for(trace: Trace) -> None:
    trace.messages["received"] = 820 * NS
    message = MessageBook(Activity(trace)).one(0)
    assert message.split[NO_RECEIVE] == 60 * NS
    assert message.split[Part(PEER, "for its turn")] == 30 * NS


def test_unfinished_messages_are_left_out(trace: Trace) -> None:
    trace.messages["completed"] = -1
    book = MessageBook(Activity(trace))
    assert list(book.all()) == []
    with pytest.raises(IndexError):
        book.one(0)


def test_figures_name_every_group(trace: Trace) -> None:
    activity = Activity(trace)
    made = figures(trace, rank_sums(activity), list(MessageBook(activity).all()))
    assert made["report.rank.1.waiting_for_peer_us"] == 0.3
    assert made["report.message.mean_us"] == 0.78
    parts = [
        value for name, value in made.items() if name.startswith("report.message.") and name != "report.message.mean_us"
    ]
    assert sum(parts) == pytest.approx(0.78)
