"""Lab 3: the student's firmware on the golden model of the NIC's processor, which counts its cycles."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lanai_firmware.compiler import build
from lanai_firmware.image import Image
from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_hdl.config import lanai41
from lanai_hdl.isa.traps import CAUSES

from ..task import Values, Wrong

RECEIVE, MESSAGE = 1, 2
ANY = 0xFFFFFFFF
MOST = 400  # operations
LIMIT = 2_000_000  # cycles
CHUNK = 100_000
PERCENT = 100
TABLES = {"matching.script": 16 * MOST, "matching.answers": 4 * MOST}  # their bytes


class Operation(NamedTuple):
    """An event: a receive is posted or a message arrives."""

    kind: int
    source: int
    tag: int
    context: int

    def __str__(self) -> str:
        kind = "receive" if self.kind == RECEIVE else "message"
        values = ["any" if value == ANY else str(value) for value in self[1:]]
        return f"{kind} of source {values[0]}, tag {values[1]}, context {values[2]}"

    def matches(self, message: "Operation") -> bool:
        """Return whether this receive takes the message."""
        return (
            self.context == message.context and self.source in (ANY, message.source) and self.tag in (ANY, message.tag)
        )


def load(folder: Path) -> Image:
    image = build(folder / "matching.py", lanai41())
    for name, size in TABLES.items():
        if name not in image.symbols or image.symbols[name].size != size:
            raise Wrong(f"{name.partition('.')[2]} has gone or changed; keep it as it is in the starting code")
    return image


def run(image: Image, values: Values) -> int:
    """Return the cycles of a script: `script` itself, or `operations` drawn from `seed`, with `sources`, `tags`
    and `contexts` of each; `wild` of 100 receives have a wildcard. `first` of 100 operations are receives."""
    script = [_read(*row) for row in values["script"]] if "script" in values else drawn(values)
    answers, cycles = play(image, script)
    for number, (got, expected) in enumerate(zip(answers, expected_of(script), strict=True)):
        if got != expected:
            raise Wrong(
                f"operation {number}, a {script[number]}: you found {_named(script, got)}, "
                f"expected {_named(script, expected)}"
            )
    return cycles


def _read(kind: str, *envelope: int) -> Operation:
    """Return an operation of a task file, where -1 stands for ANY."""
    source, tag, context = (ANY if value == -1 else value for value in envelope)
    return Operation(RECEIVE if kind == "receive" else MESSAGE, source, tag, context)


def _named(script: Sequence[Operation], answer: int) -> str:
    if not answer:
        return "nothing"
    if answer > len(script):
        return f"operation {answer - 1}, which is not there"
    return f"operation {answer - 1}, a {script[answer - 1]}"


def drawn(values: Values) -> list[Operation]:
    """Return random operations: first receives, then messages, then both, as programs do."""
    chance = random.Random(values["seed"])
    script = []
    for number in range(values["operations"]):
        first = number < values["operations"] * values["first"] // PERCENT
        receive = first or chance.random() < 0.3
        source, tag, context = (chance.randrange(values[name]) for name in ("sources", "tags", "contexts"))
        if receive and chance.randrange(PERCENT) < values["wild"]:
            source, tag = chance.choice([(ANY, tag), (source, ANY), (ANY, ANY)])
        script.append(Operation(RECEIVE if receive else MESSAGE, source, tag, context))
    return script


def expected_of(script: Sequence[Operation]) -> list[int]:
    """Return the answers that MPI asks for: of all that fit, the oldest."""
    receives: list[int] = []
    messages: list[int] = []
    answers = []
    for number, one in enumerate(script):
        waiting, own = (messages, receives) if one.kind == RECEIVE else (receives, messages)
        fits = (other for other in waiting if _fit(one, script[other]))
        found = next(fits, None)
        if found is None:
            own.append(number)
        else:
            waiting.remove(found)
        answers.append(0 if found is None else found + 1)
    return answers


def _fit(one: Operation, other: Operation) -> bool:
    return one.matches(other) if one.kind == RECEIVE else other.matches(one)


def play(image: Image, script: Sequence[Operation]) -> tuple[list[int], int]:
    """Return the firmware's answers and its cycles: with the LBUS free, each instruction takes one."""
    memory = Memory(image.sram_size)
    memory.write(0, image.sram())
    words = b"".join(word.to_bytes(4, "big") for operation in script for word in operation)
    memory.write(image.address("matching.script"), words)
    processor = Processor(memory, PlainRegisters())
    processor.add_breakpoint(image.halt)
    stop = Stop.LIMIT
    while stop in (Stop.LIMIT, Stop.WAIT):
        if processor.retired >= LIMIT:
            raise Wrong(f"main has not ended after {LIMIT} cycles; it is at {image.where(processor.pc)}")
        processor.wake()
        stop = processor.run(CHUNK)
    if processor.trap is not None:
        raise Wrong(f"the firmware stopped: {_trap(image, processor, memory)}")
    answers = memory.read(image.address("matching.answers"), 4 * len(script))
    return [int.from_bytes(answers[at : at + 4], "big") for at in range(0, len(answers), 4)], processor.retired


def _trap(image: Image, processor: Processor, memory: Memory) -> str:
    assert processor.trap is not None
    if processor.trap.pc == image.address("__trap"):
        return image.trap_text(int.from_bytes(memory.read(image.address("__trap_site"), 4), "big"))
    return f"{CAUSES[processor.trap.cause]} at {image.where(processor.trap.pc)}"
