"""Call stacks are rebuilt from a flat list of places."""

from hypothesis import given
from hypothesis import strategies as st

from lanai_sim.report.profile import Frames, fold, folded_text

SIZE = 0x100
ENTRIES = {i * SIZE: f"f{i}" for i in range(6)}


def test_calls_and_returns() -> None:
    frames = Frames({0: "main", 0x100: "poll", 0x200: "search"})
    places = [
        (0, "main"),
        (4, "main"),
        (0x100, "poll"),
        (0x200, "search"),
        (0x200, "search"),
        (0x104, "poll"),
        (8, "main"),
    ]
    depths = [frames.step(pc, function) for pc, function in places]
    assert depths == [
        ("main",), ("main",), ("main", "poll"), ("main", "poll", "search"), ("main", "poll", "search"), ("main",
         "poll"), ("main",),
    ]  # fmt: skip


def test_inlined_functions_are_leaves() -> None:
    totals = fold([(0, "main", "main", 3), (4, "main", "next_slot", 2), (8, "main", "main", 1)], {0: "main"})
    assert totals == {("main",): 4, ("main", "next_slot"): 2}
    assert folded_text(totals) == "main 4\nmain;next_slot 2\n"


@st.composite
def walks(draw: st.DrawFn) -> list[tuple[int, int, bool]]:
    """(function, offset, is a call): a random program of functions that call higher numbered ones
    only."""
    stack, result = [0], [(0, 0, True)]
    for _ in range(draw(st.integers(0, 40))):
        action = draw(st.sampled_from("icr"))
        if action == "c" and stack[-1] < 5:
            stack.append(draw(st.integers(stack[-1] + 1, 5)))
            result.append((stack[-1], 0, True))
        elif action == "r" and len(stack) > 1:
            stack.pop()
            result.append((stack[-1], 8, False))
        else:
            result.append((stack[-1], 4, False))
    return result


@given(walks())
def test_random_programs_have_the_stacks_they_had(walk: list[tuple[int, int, bool]]) -> None:
    frames, stack = Frames(ENTRIES), list[int]()
    for function, offset, call in walk:
        if call:
            stack.append(function)
        else:
            while stack[-1] != function:
                stack.pop()
        assert frames.step(function * SIZE + offset, f"f{function}") == tuple(f"f{i}" for i in stack)
