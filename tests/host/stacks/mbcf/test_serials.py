"""The moments when a sender may answer a request by a remote write: the four combinations, and any history of
the two sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_host.stacks.mbcf.outbox import MASK, ReceiverSerials, SenderSerials


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("successive", [True, False])
def test_a_request_is_answered_only_if_it_is_fresh_and_successive(fresh, successive):
    sender = SenderSerials(sent=5, next_request=9)
    assert sender.accepts(9 if successive else 10, 5 if fresh else 4) == (fresh and successive)


@given(st.lists(st.sampled_from(["message", "take", "request", "look"]), max_size=60), st.booleans())
def test_a_request_is_answered_only_if_the_receiver_knew_of_every_message(actions, near_the_end):
    """`unseen` messages are under way while a request is made; one that is answered was made with
    none unseen, and in turn."""
    start = MASK - 3 if near_the_end else 0
    sender, receiver = SenderSerials(start, start), ReceiverSerials(start, start)
    messages, requests, answered = [], [], []
    sent = taken = 0
    for action in actions:
        if action == "message":
            messages.append((sender.message(), sender.next_request))
            sent += 1
        elif action == "take" and messages:
            receiver.message(*messages.pop(0))
            taken += 1
        elif action == "request":
            requests.append((receiver.request(), receiver.accepted, taken))
        elif action == "look" and requests:
            serial, accepted, known = requests.pop(0)
            if sender.accepts(serial, accepted):
                assert known == sent
                answered.append(serial)
                sender.answered()
    assert answered == [(start + n) & MASK for n in range(len(answered))]
