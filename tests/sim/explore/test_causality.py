"""Messages that cannot be an alternative of a wildcard, as they are sent because of what it chose."""

from lanai_sim.explore.causality import impossible

MATCH = {"k": "match", "n": 0, "v": 1, "of": [1]}


def sent(to, number=0):
    return {"k": "sent", "to": to, "i": number}


def got(source, number=0):
    return {"k": "got", "of": source, "i": number}


def late(source, number=0):
    return {"k": "late", "n": 0, "of": source, "i": number}


def test_a_message_that_was_sent_because_of_the_choice_cannot_be_one():
    zero = [MATCH, got(1), sent(2), late(2)]
    assert impossible([zero, [sent(0)], [got(0), sent(0)]]) == {(0, 0, 2)}


def test_it_may_go_over_other_ranks():
    zero = [MATCH, got(1), sent(3), late(2)]
    assert impossible([zero, [sent(0)], [got(3), sent(0)], [got(0), sent(2)]]) == {(0, 0, 2)}


def test_a_message_that_only_came_later_is_an_alternative():
    zero = [MATCH, got(1), sent(2), late(2)]
    assert impossible([zero, [sent(0)], [sent(0), got(0)]]) == set()


def test_what_the_program_was_not_told_counts_for_nothing():
    """The library has the message; the program has not waited for it when it sends."""
    zero = [MATCH, got(1), sent(2), late(2)]
    assert impossible([zero, [sent(0)], [sent(0)]]) == set()


def test_records_that_were_cut_short_leave_nothing_out():
    zero = [MATCH, got(1), late(2)]
    assert impossible([zero, [], [got(0), sent(0)]]) == set()
