"""The process manager of `lanai run`, as a rank reaches it: questions in the order of simulated
time, so that the answers are the same in every run."""

import json
from typing import Any

from ..bus.base import Wait
from ..device import Device
from ..manager import Question, Refused
from .client import SimulatorClient
from .protocol import Op


class RunManager:
    """Asks the launcher. A question costs a look for messages, and no time beyond that."""

    def __init__(self, client: SimulatorClient, device: Device) -> None:
        self._client = client
        self._device = device

    def ask(self, call: str, question: Question, *values: Any) -> Any:
        """The caller holds the lock of the library."""
        self._device.progress()
        if self._client.transport is not None:
            self._client.transport.take_turn(Wait(call, note="for its turn at the process manager"))
        said = json.loads(self._client.call(Op.MANAGE, pack_question(question, *values)))
        if "refused" in said:
            raise Refused(*said["refused"])
        return said["answer"]


def pack_question(question: Question, *values: Any) -> bytes:
    """The payload of MANAGE."""
    return json.dumps([question, *values]).encode()


def unpack_question(payload: bytes) -> tuple[Question, list[Any]]:
    question, *values = json.loads(payload)
    return Question(question), values


def pack_answer(answer: Any) -> bytes:
    """What the launcher answers."""
    return json.dumps({"answer": answer}).encode()


def pack_refusal(refused: Refused) -> bytes:
    """The same when it says no."""
    return json.dumps({"refused": [refused.kind, str(refused)]}).encode()
