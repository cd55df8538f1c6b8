"""Host programs in greenlets."""

import asyncio

import pytest

from lanai_host.bus.greenlets import run_in_greenlet, wait_for


def run(program, *arguments):
    return asyncio.run(run_in_greenlet(program, *arguments))


async def failing():
    await asyncio.sleep(0)
    raise ValueError("lost")


def test_a_program_gives_its_result():
    def program(first, second):
        return first + wait_for(asyncio.sleep(0, second))

    assert run(program, 1, 2) == 3
    assert run(lambda: 4) == 4


def test_programs_take_turns():
    steps = []

    def program(name):
        for step in range(3):
            steps.append((step, name))
            wait_for(asyncio.sleep(0))
        return name

    async def both():
        return await asyncio.gather(run_in_greenlet(program, "a"), run_in_greenlet(program, "b"))

    assert asyncio.run(both()) == ["a", "b"]
    assert steps == [(step, name) for step in range(3) for name in "ab"]


def test_a_program_sees_what_its_wait_raises():
    def program():
        with pytest.raises(ValueError, match="lost"):
            wait_for(failing())
        return "went on"

    assert run(program) == "went on"


def test_what_a_program_raises_comes_out():
    with pytest.raises(ValueError, match="lost"):
        run(lambda: wait_for(failing()))
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 / 0)


def test_a_program_that_is_given_up_cleans_up():
    cleaned = []

    def program():
        try:
            wait_for(asyncio.sleep(0))
        finally:
            cleaned.append(True)

    started = run_in_greenlet(program)
    started.send(None)
    started.close()
    assert cleaned == [True]


def test_a_wait_outside_of_a_host_is_refused():
    with pytest.raises(RuntimeError, match="run the program by `run_in_greenlet`"):
        wait_for(asyncio.sleep(0))
