"""Instructions that compute: each decoded word becomes a closure over the registers and the flags.

`r` is the register list; entry 2 holds the instruction's own address while it runs, and entry SINK
swallows writes to the constant registers. `f` holds [result, carry, overflow]: Z and N are read off
the result only when a condition asks. Closures come from one template an operation, compiled on
first use: a generic interpreter of fields would cost several times as much.
"""

from collections.abc import Callable
from functools import cache
from typing import cast

from lanai_hdl.isa import AluOp, Condition, Decoded, Function, Reg, Special

MASK = 0xFFFFFFFF
SINK = 32

# The answer of an instruction to the run loop: None to go on, else a target, with these set for other
# cases.
TWO_SLOTS = 1 << 32  # the transfer is a load: it has two delay slots
STALL = -1  # the store hit WAIT
BREAK = -2  # breakpoint: nothing ran

Op = Callable[[], int | None]
Test = Callable[[], bool]

# Result, and for arithmetic carry out, of operands {a} and {b}; f[1] is the carry in.
_VALUE = {
    AluOp.ADD: "({a} + {b}) & 0xFFFFFFFF",
    AluOp.ADDC: "({a} + {b} + f[1]) & 0xFFFFFFFF",
    AluOp.SUB: "({a} - {b}) & 0xFFFFFFFF",
    AluOp.SUBB: "({a} - {b} - 1 + f[1]) & 0xFFFFFFFF",
    AluOp.AND: "{a} & {b}",
    AluOp.OR: "{a} | {b}",
    AluOp.XOR: "{a} ^ {b}",
}
_CARRY = {
    AluOp.ADD: "a + b >> 32",
    AluOp.ADDC: "a + b + f[1] >> 32",
    AluOp.SUB: "int(a >= b)",
    AluOp.SUBB: "int(a > b - f[1])",
}
_OVERFLOW = {
    AluOp.ADD: "(a ^ v) & (b ^ v)",
    AluOp.ADDC: "(a ^ v) & (b ^ v)",
    AluOp.SUB: "(a ^ b) & (a ^ v)",
    AluOp.SUBB: "(a ^ b) & (a ^ v)",
}


def _factory(*body: str) -> Callable[..., Op]:
    names: dict[str, object] = {}
    exec("\n ".join(("def factory(r, f, d, s, x):", *body, "return op")), names)
    return cast(Callable[..., Op], names["factory"])


@cache
def alu_template(op: AluOp, flags: bool, constant: bool) -> Callable[..., Op]:
    """factory(r, f, d, s, x) of r[d] = r[s] op x, where x is a constant or a register's number."""
    x = "x" if constant else "r[x]"
    if not flags:
        return _factory("def op():", "    r[d] = " + _VALUE[op].format(a="r[s]", b=x))
    value = "    v = " + _VALUE[op].format(a="a", b="b")
    if op.arithmetic:
        change = [f"    f[1] = {_CARRY[op]}", f"    f[2] = ({_OVERFLOW[op]}) >> 31"]
    else:
        change = ["    f[2] = 0", *(["    f[1] = 0"] if constant else [])]
    return _factory("def op():", "    a = r[s]", f"    b = {x}", value, *change, "    f[0] = r[d] = v")


@cache
def address_template(op: AluOp) -> Callable[..., Callable[[], int]]:
    """factory(r, f, None, s, x) of a function that gives r[s] op r[x]."""
    return cast(Callable[..., Callable[[], int]], _factory("op = lambda: " + _VALUE[op].format(a="r[s]", b="r[x]")))


def shift(a: int, amount: int, arithmetic: bool) -> tuple[int, int]:
    """Result and carry of a shift by a signed 32-bit amount; see isa.Special."""
    if amount < 0x80000000:
        n = amount & 31
        return a << n & MASK, a >> (32 - n) & 1 if n else 0
    n = -amount & 31
    if arithmetic and a >> 31:
        return (a - (1 << 32) >> n) & MASK, 0
    return a >> n, 0


def _shift(r: list[int], f: list[int], d: int, s: int, amount: int | None, x: int, arithmetic: bool, flags: bool) -> Op:
    """r[d] = r[s] shifted by `amount`, or by r[x] if that is None."""

    def op() -> None:
        v, carry = shift(r[s], r[x] if amount is None else amount, arithmetic)
        if flags:
            f[0], f[1], f[2] = v, carry, 0
        r[d] = v

    return op


def condition(f: list[int], code: int) -> Test:
    """A test of the flags."""
    tests: tuple[Test, ...] = (
        lambda: True,
        lambda: False,
        lambda: f[1] == 1 and f[0] != 0,
        lambda: f[1] == 0 or f[0] == 0,
        lambda: f[1] == 0,
        lambda: f[1] == 1,
        lambda: f[0] != 0,
        lambda: f[0] == 0,
        lambda: f[2] == 0,
        lambda: f[2] == 1,
        lambda: f[0] < 0x80000000,
        lambda: f[0] >= 0x80000000,
        lambda: f[0] >> 31 == f[2],
        lambda: f[0] >> 31 != f[2],
        lambda: f[0] >> 31 == f[2] and f[0] != 0,
        lambda: f[0] >> 31 != f[2] or f[0] == 0,
    )
    return tests[code]


def destination(rd: int) -> int:
    """Return the place of a result: the constant registers swallow it, a transfer picks it up from there."""
    return SINK if rd <= Reg.PC else rd


def transfer_of(r: list[int], plain: Op, flag: int = 0) -> Op:
    """`plain`, whose result in the sink is the transfer's target."""

    def op() -> int:
        plain()
        return r[SINK] | flag

    return op


def immediate(values: Decoded) -> int:
    """The 32-bit constant of an RI instruction."""
    imm, high = values["imm"], values["high"]
    if values["op"] == AluOp.SHIFT:
        return imm | (0xFFFF0000 if imm >> 15 else 0)
    if values["op"] == AluOp.AND:
        return imm << 16 | 0xFFFF if high else 0xFFFF0000 | imm
    return imm << 16 if high else imm


def compile_ri(r: list[int], f: list[int], i: Decoded) -> Op:
    d, flags, k = destination(i["rd"]), bool(i["flags"]), immediate(i)
    if i["op"] == AluOp.SHIFT:
        plain = _shift(r, f, d, i["rs1"], k, 0, bool(i["high"]), flags)
    else:
        plain = alu_template(AluOp(i["op"]), flags, True)(r, f, d, i["rs1"], k)
    return transfer_of(r, plain) if i["rd"] == Reg.PC else plain


def compile_rr(r: list[int], f: list[int], i: Decoded) -> Op:
    rd, d, s, x, flags = i["rd"], destination(i["rd"]), i["rs1"], i["rs2"], bool(i["flags"])
    holds = condition(f, i["cond"])
    if i["op"] == AluOp.SHIFT and i["special"] == Special.PLAIN:

        def select() -> None:
            r[d] = r[s] if holds() else r[x]

        return transfer_of(r, select) if rd == Reg.PC else select
    if i["op"] == AluOp.SHIFT:
        plain = _shift(r, f, d, s, None, x, i["special"] == Special.ARITHMETIC, flags)
    else:
        plain = alu_template(AluOp(i["op"]), flags, False)(r, f, d, s, x)
    if rd == Reg.PC:
        plain = transfer_of(r, plain)
    if i["cond"] == Condition.T:
        return plain

    def predicated() -> int | None:
        if holds():
            return plain()
        if flags:
            f[0] = r[rd]  # Z and N of the Rd that stays; C and V keep their values
        return None

    return predicated


def compile_special(r: list[int], f: list[int], i: Decoded) -> Op:
    d, s = destination(i["rd"]), i["rs1"]

    def popc() -> None:
        r[d] = r[s].bit_count()

    def leadz() -> None:
        r[d] = 32 - r[s].bit_length()

    def trailz() -> None:
        a = r[s]
        r[d] = (a & -a).bit_length() - 1 if a else 32

    plain: Op = {Function.POPC: popc, Function.LEADZ: leadz, Function.TRAILZ: trailz}[Function(i["function"])]
    return transfer_of(r, plain) if i["rd"] == Reg.PC else plain


def compile_scc(r: list[int], f: list[int], i: Decoded) -> Op:
    d, holds = destination(i["rd"]), condition(f, i["cond"])

    def scc() -> None:
        r[d] = 1 if holds() else 0

    return transfer_of(r, scc) if i["rd"] == Reg.PC else scc


def compile_sli(r: list[int], f: list[int], i: Decoded) -> Op:
    d, k = destination(i["rd"]), i["imm"]

    def sli() -> None:
        r[d] = k

    return transfer_of(r, sli) if i["rd"] == Reg.PC else sli


def compile_br(r: list[int], f: list[int], i: Decoded) -> Op:
    target, holds = i["target"], condition(f, i["cond"])
    if i["cond"] == Condition.T:
        return lambda: target
    return lambda: target if holds() else None


def compile_brr(r: list[int], f: list[int], i: Decoded) -> Op:
    s, offset, holds = i["rs1"], i["offset"], condition(f, i["cond"])
    return lambda: (r[s] + offset) & MASK if holds() else None


COMPILERS: dict[str, Callable[[list[int], list[int], Decoded], Op]] = {
    "RI": compile_ri,
    "RR": compile_rr,
    "SPECIAL": compile_special,
    "SCC": compile_scc,
    "SLI": compile_sli,
    "BR": compile_br,
    "BRR": compile_brr,
}
