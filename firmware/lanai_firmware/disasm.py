"""Words back to assembly, in the spelling of LLVM's Lanai assembler."""

from collections.abc import Callable, Iterator, Mapping

from lanai_hdl.isa import NOP, Access, AluOp, Condition, Decoded, Function, Reg, Special, decode
from lanai_hdl.isa.registers import NAMES

# Gives a name to an address, or None.
Symbols = Callable[[int], str | None]

_OPS = {op: op.name.lower() for op in AluOp}
_UNUSED = "!"  # with P = Q = 0 the base alone is the address; an offset is encoded all the same
_SHIFTS = {Special.LOGICAL: "sh", Special.ARITHMETIC: "sha"}


def _reg(number: int) -> str:
    return "%" + NAMES[number]


def _constant(value: int) -> str:
    return str(value) if abs(value) < 10 else hex(value)


def _operation(i: Decoded) -> str:
    return _SHIFTS[Special(i["special"])] if i["op"] == AluOp.SHIFT else _OPS[AluOp(i["op"])]


def _ri(i: Decoded) -> str:
    op, imm = AluOp(i["op"]), i["imm"]
    flags = ".f" if i["flags"] else ""
    if op == AluOp.SHIFT:
        amount = imm - 0x10000 if imm >> 15 else imm
        return f"{'sha' if i['high'] else 'sh'}{flags} {_reg(i['rs1'])}, {amount}, {_reg(i['rd'])}"
    value = imm << 16 if i["high"] else imm
    if op == AluOp.AND:
        value |= 0xFFFF if i["high"] else 0xFFFF0000
    return f"{_OPS[op]}{flags} {_reg(i['rs1'])}, {hex(value)}, {_reg(i['rd'])}"


def _rr(i: Decoded) -> str:
    cond = Condition(i["cond"])
    operands = f"{_reg(i['rs1'])}, {_reg(i['rs2'])}, {_reg(i['rd'])}"
    if i["op"] == AluOp.SHIFT and i["special"] == Special.PLAIN:
        return f"sel.{cond.suffix} {operands}"
    if i["op"] == AluOp.OR and i["rd"] == Reg.PC and i["rs1"] == Reg.ZERO and not i["flags"]:
        return f"b{cond.suffix} {_reg(i['rs2'])}"
    suffix = (".f" if i["flags"] else "") + (f".{cond.suffix}" if cond else "")
    return f"{_operation(i)}{suffix} {operands}"


def _place(i: Decoded, size: int) -> str:
    """Address operand of RM and SPLS."""
    base, offset = _reg(i["rs1"]), i["imm"]
    if i["update"] and abs(offset) == size:
        sign = "++" if offset > 0 else "--"
        return f"[{sign}{base}]" if i["pre"] else f"[{base}{sign}]"
    if i["update"]:
        base = f"*{base}" if i["pre"] else f"{base}*"
    if i["pre"] or i["update"]:
        return f"{_constant(offset)}[{base}]"
    return f"{_constant(offset)}[{base}]{_UNUSED}" if offset else f"[{base}]"


def _place_rrm(i: Decoded) -> str:
    base = _reg(i["rs1"])
    if i["update"]:
        base = f"*{base}" if i["pre"] else f"{base}*"
    return f"[{base} {_operation(i)} {_reg(i['rs2'])}]{'' if i['pre'] or i['update'] else _UNUSED}"


def _memory(i: Decoded, place: str, suffix: str, zero: bool) -> str:
    if i["store"]:
        return f"st{suffix} {_reg(i['rd'])}, {place}"
    return f"{'u' if zero else ''}ld{suffix} {place}, {_reg(i['rd'])}"


def _rrm(i: Decoded) -> str:
    access = Access(i["access"])
    suffix = {4: "", 2: ".h", 1: ".b"}[access.size]
    return _memory(i, _place_rrm(i), suffix, access.size < 4 and not access.signed)


def _spls(i: Decoded) -> str:
    size = 1 if i["byte"] else 2
    return _memory(i, _place(i, size), {2: ".h", 1: ".b"}[size], bool(i["zero"]))


def _br(i: Decoded, symbols: Symbols) -> str:
    return f"b{Condition(i['cond']).suffix} {symbols(i['target']) or hex(i['target'])}"


def _text(i: Decoded, symbols: Symbols) -> str:
    match i.format.name:
        case "RI":
            return _ri(i)
        case "RR":
            return _rr(i)
        case "RM":
            return _memory(i, _place(i, 4), "", False)
        case "RRM":
            return _rrm(i)
        case "SPLS":
            return _spls(i)
        case "SLS":
            return _memory(i, f"[{symbols(i['address']) or hex(i['address'])}]", "", False)
        case "SLI":
            return f"mov {symbols(i['imm']) or hex(i['imm'])}, {_reg(i['rd'])}"
        case "SPECIAL":
            return f"{Function(i['function']).name.lower()} {_reg(i['rs1'])}, {_reg(i['rd'])}"
        case "SCC":
            return f"s{Condition(i['cond']).suffix} {_reg(i['rd'])}"
        case "BRR":
            return f"b{Condition(i['cond']).suffix}.r {_constant(i['offset'])}[{_reg(i['rs1'])}]"
        case _:
            return _br(i, symbols)


def disassemble(word: int, symbols: Symbols | None = None) -> str:
    """One instruction. An undefined encoding becomes `.word`. `symbols` may name branch targets and
    absolute addresses."""
    if word == NOP:
        return "nop"
    instruction = decode(word)
    if instruction is None:
        return f".word {word:#010x}"
    return _text(instruction, symbols or (lambda address: None))


def named(labels: Mapping[str, int]) -> Symbols:
    """`symbols` from label -> address."""
    names = {address: name for name, address in sorted(labels.items(), reverse=True)}
    return names.get


def listing(code: bytes, address: int, labels: Mapping[str, int] | None = None) -> Iterator[str]:
    """Lines of `code` as loaded at `address`: labels on lines of their own, then address, word,
    text."""
    symbols = named(labels or {})
    for offset in range(0, len(code) - 3, 4):
        label = symbols(address + offset)
        if label:
            yield f"{label}:"
        word = int.from_bytes(code[offset : offset + 4], "big")
        yield f"{address + offset:06x}: {word:08x}  {disassemble(word, symbols)}"
