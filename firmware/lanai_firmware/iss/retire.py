"""Retire records: what each instruction did, as the gateware's retire port gives it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lanai_hdl.isa import NOP, Access, Condition, Decoded, Reg, decode

from . import access, compute
from .processor import Processor, Stop

NOTHING = -1


class Retire(NamedTuple):
    """One instruction that ran.

    `rd` got `result` (NOTHING: no register did; writes to r0 and r1 count as none, a transfer
    writes pc); `base` got `moved` by an update. `address` is that of the memory access (NOTHING:
    none) of `size` bytes; `store` is its direction and `data` what was stored.
    """

    pc: int
    word: int
    rd: int
    result: int
    base: int
    moved: int
    address: int
    size: int
    store: bool
    data: int


@dataclass(frozen=True)
class Plan:
    """The parts of the state to look at around one instruction."""

    rd: int  # NOTHING if none can change
    holds: compute.Test | None  # for what happens under a condition only
    base: int
    address: access.Address | None
    size: int
    store: bool
    source: int


# Field that names the destination in each format that has one.
_COMPUTES = ("RI", "RR", "SPECIAL", "SCC", "SLI")


def plan_of(processor: Processor, i: Decoded) -> Plan:
    """Return what to record of an instruction."""
    r, f, name = processor.r, processor.f, i.format.name
    if name in ("BR", "BRR"):
        return Plan(Reg.PC, compute.condition(f, i["cond"]), NOTHING, None, 0, False, 0)
    if name in _COMPUTES:
        predicated = name == "RR" and i["cond"] != Condition.T and not (i["op"] == 7 and i["special"] == 0)
        holds = compute.condition(f, i["cond"]) if predicated else None
        return Plan(_kept(i["rd"]), holds, NOTHING, None, 0, False, 0)
    kind = {"RRM": lambda: Access(i["access"]), "SPLS": lambda: access.spls_access(i)}.get(name, lambda: Access.WORD)()
    store = bool(i["store"])
    base = _kept(i["rs1"]) if name != "SLS" and i["update"] else NOTHING
    rd = NOTHING if store else _kept(i["rd"])
    return Plan(rd, None, NOTHING if base == rd else base, access.address_of(r, f, i), kind.size, store, i["rd"])


def _kept(register: int) -> int:
    return register if register > Reg.ONES else NOTHING


class Tracer:
    """Steps a processor and records. `stop` is the reason why the last `step` gave None, else it is
    Stop.LIMIT or Stop.WAIT."""

    def __init__(self, processor: Processor) -> None:
        self.processor = processor
        self.stop = Stop.LIMIT
        self._plans: dict[int, Plan] = {}

    def _plan(self, word: int) -> Plan | None:
        plan = self._plans.get(word)
        if plan is None:
            instruction = decode(word)
            if instruction is None:
                return None
            plan = self._plans[word] = plan_of(self.processor, instruction)
        return plan

    def step(self) -> Retire | None:
        """Runs one instruction; None if it did not run."""
        p = self.processor
        pc, r = p.pc, p.r
        fetched = not pc & 3 and pc < p.fast_limit
        word = p.memory.words[pc >> 2] if fetched else NOP
        plan = self._plan(word)
        r[Reg.PC] = pc
        wrote = plan is not None and plan.rd != NOTHING and (plan.holds is None or plan.holds())
        address = plan.address() if plan and plan.address else NOTHING
        data = r[plan.source] if plan and plan.store else 0
        self.stop = p.run(1)
        if plan is None or self.stop is Stop.TRAP or self.stop is Stop.BREAKPOINT:
            return None
        rd = plan.rd if wrote else NOTHING
        result = p.pending if rd == Reg.PC else r[rd] if wrote else 0
        moved = r[plan.base] if plan.base != NOTHING else 0
        data &= (1 << 8 * plan.size) - 1
        return Retire(pc, word, rd, result, plan.base, moved, address, plan.size, plan.store, data)


def trace(processor: Processor, limit: int) -> Iterator[Retire]:
    """Records of up to `limit` instructions; ends early at a trap, breakpoint or stall."""
    tracer = Tracer(processor)
    for _ in range(limit):
        record = tracer.step()
        if record is None:
            return
        yield record
        if tracer.stop is Stop.WAIT:
            return
