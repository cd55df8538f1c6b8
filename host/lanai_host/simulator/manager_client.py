"""The process manager of `lanai run`, as a rank reaches it: questions in the order of simulated
time, so that the answers are the same in every run."""

import json
from typing import Any

from ..device import Device
from ..operation import Wait
from ..process_manager import LATER, Question, Refused
from .client import SimulatorClient
from .protocol import Op

# Picoseconds that a process waits for others to leave, so that it can start new ones: between two
# questions, at least and as a share of what it has waited; and in all.
SHORTEST, SHARE, LONGEST = 1_000_000, 8, 10_000_000_000


class RunManager:
    """Asks the launcher. A question costs a look for messages, and no time beyond that."""

    def __init__(self, client: SimulatorClient, device: Device) -> None:
        self._client = client
        self._device = device

    def ask(self, call: str, question: Question, *values: Any) -> Any:
        """The caller holds the lock of the library. Asks again where processes may still leave."""
        client, begun = self._client, self._client.clock
        while "refused" in (said := self._ask_once(call, question, *values)):
            kind, text = said["refused"]
            waited = client.clock - begun
            if kind != LATER:
                raise Refused(kind, text)
            if waited >= LONGEST:
                raise Refused("SPAWN", f"{text}, and no process has left in {waited / 1e9:.0f} ms")
            client.charge(max(SHORTEST, waited // SHARE))
        return said["answer"]

    def _ask_once(self, call: str, question: Question, *values: Any) -> Any:
        self._device.progress()
        if self._client.transport is not None:
            self._client.transport.take_turn(Wait(call, note="for its turn at the process manager"))
        return json.loads(self._client.call(Op.MANAGE, pack_question(question, *values)))


def pack_question(question: Question, *values: Any) -> bytes:
    """The payload of MANAGE."""
    return json.dumps([question, *values]).encode()


def unpack_question(payload: bytes) -> tuple[Question, list[Any]]:
    question, *values = json.loads(payload)
    return Question(question), values


def pack_answer(answer: Any) -> bytes:
    """Return the launcher's answer as the bytes to send."""
    return json.dumps({"answer": answer}).encode()


def pack_refusal(refused: Refused) -> bytes:
    """The same when it says no."""
    return json.dumps({"refused": [refused.kind, str(refused)]}).encode()
