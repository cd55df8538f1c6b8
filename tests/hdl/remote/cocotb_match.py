"""cocotb: messages and receives are matched as Python's lists do it."""

import random

import cocotb
from match_lists import Lists, random_questions

from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.remote.match import Answer, Outcome, Question

CELLS, ROUNDS = 8, 2000


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(idle=[0.0, 0.4])
async def answers_are_those_of_lists(dut, idle):
    await begin(dut)
    i, o = CocotbPins(dut, "i"), CocotbPins(dut, "o")
    chance, lists = random.Random(str(idle)), Lists(CELLS)
    for asked in random_questions(chance, ROUNDS, lists, owners=3):
        while chance.random() < idle:
            await i.step()
        i.set(payload=Question.const(asked).as_bits(), valid=1)
        while not (await i.step("ready"))[0]:
            pass
        i.set(valid=0)
        valid = 0
        while not valid:
            valid, bits = await o.step("valid", "payload")
        answer = Answer.from_bits(bits)
        outcome = Outcome(answer.outcome)
        assert (outcome, answer.handle if outcome == Outcome.FOUND else None) == lists.answer(asked)
