"""The stack that a program can take, read off its machine code: frames from prologues, calls from
call sequences.

The language has no function pointers, so the call graph is complete; functions that call themselves
declare how often.
"""

from collections.abc import Iterator, Mapping

from lanai_hdl.errors import UserError
from lanai_hdl.isa import Decoded, Reg, decode
from lanai_hdl.isa.operations import AluOp

from ..graph import components
from .linker import Linked, Placed
from .stub import RETURN_AT

LINK_BYTES = 8  # return address and the caller's fp
SMALL_SLOT_REACH = 504  # a byte or half on the stack farther from fp is addressed through a register that may be in use
FRAME_REACH = 32760  # so is a word


def words_of(linked: Linked, function: Placed) -> Iterator[tuple[int, Decoded | None]]:
    for address in range(function.address, function.address + function.size, 4):
        offset = address - linked.base
        yield address, decode(int.from_bytes(linked.loaded[offset : offset + 4], "big"))


def is_immediate(word: Decoded | None, op: AluOp, rd: Reg, rs1: Reg) -> bool:
    return word is not None and word.format.name == "RI" and (word["op"], word["rd"], word["rs1"]) == (op, rd, rs1)


def frame_of(linked: Linked, function: Placed) -> int:
    """Bytes below fp: the sum of what the function takes off sp."""
    total = 0
    for _, word in words_of(linked, function):
        if word is not None and is_immediate(word, AluOp.SUB, Reg.SP, Reg.SP):
            total += word["imm"] << (16 if word["high"] else 0)
    return total


def calls_of(linked: Linked, function: Placed) -> set[int]:
    """Addresses that the function calls: the branch two words after pc is read into rca."""
    found: set[int] = set()
    expected = -1
    for address, word in words_of(linked, function):
        if is_immediate(word, AluOp.ADD, Reg.RCA, Reg.PC) and word is not None and word["imm"] == RETURN_AT:
            expected = address + 8
        elif address == expected and word is not None and word.format.name == "BR":
            found.add(word["target"])
    return found


def check_frames(frames: Mapping[str, int], local_bytes: Mapping[str, int]) -> None:
    """Refuse frames that LLVM's backend addresses wrongly."""
    for name, frame in frames.items():
        limit = SMALL_SLOT_REACH if local_bytes.get(name) else FRAME_REACH
        if frame > limit:
            raise UserError(
                f"{name} takes {frame} bytes of stack, {local_bytes.get(name, 0)} of them in local(); "
                f"the limit is {limit}; use a Global for what is large"
            )


def stack_bound(linked: Linked, entry: str, depths: Mapping[str, int], local_bytes: Mapping[str, int] | None) -> int:
    """Bytes of stack that the program takes at most. `local_bytes` None: frames are not checked."""
    functions = {p.address: p for p in linked.symbols.values() if p.code and p.size}
    frames = {p.name: frame_of(linked, p) for p in functions.values()}
    if local_bytes is not None:
        check_frames(frames, local_bytes)
    calls = {p.name: {functions[a].name for a in calls_of(linked, p) if a in functions} for p in functions.values()}
    return deepest(entry, calls, frames, depths, {})


def deepest(
    name: str,
    calls: Mapping[str, set[str]],
    frames: Mapping[str, int],
    depths: Mapping[str, int],
    open_now: dict[str, int],
) -> int:
    """The most that `name` and what it calls take. A circle is entered as often as its functions
    declare."""
    memo: dict[str, int] = {}
    circles = {
        member: group for group in groups(calls) for member in group if len(group) > 1 or member in calls[member]
    }

    def visit(function: str) -> int:
        if function not in memo:
            members = circles.get(function, (function,))
            own = sum(depths.get(member, 1) * (frames[member] + LINK_BYTES) for member in members)
            outside = {target for member in members for target in calls[member]} - set(members)
            memo[function] = own + max((visit(target) for target in sorted(outside)), default=0)
        return memo[function]

    return visit(name)


def groups(calls: Mapping[str, set[str]]) -> list[list[str]]:
    return components({name: set(targets) for name, targets in calls.items()})
