"""The values of a netlist at one moment, as instructions. Each is written when something first asks for it, so what
nobody asks for costs nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lanai_hdl.errors import UserError

from .code import BYTES, Code, container, is_constant, mask
from .netlist import Netlist
from .sources import (
    WORD,
    Assigned,
    Assignment,
    Bits,
    Cell,
    Choice,
    Output,
    Row,
    Runs,
    Source,
    Wire,
    cut,
    unknown,
    width_of,
)

SUM = 8  # bits of a word that are sums modulo 2, from which on it is made by tables
TABLE = 8  # bits that choose a row of such a table
Body = list[Assignment | Choice]
Leaf = tuple[str, int, int]  # a value, its width, and one of its bits
ONE: Leaf = ("", 0, 0)  # in a sum: the constant


class Values:
    """`given` returns the value of what the caller knows: fields, inputs, what is outside. `memories`: where each
    memory begins, counted from %store. `moment` names the loads of rows: two moments see other rows."""

    def __init__(
        self, code: Code, netlist: Netlist, memories: Mapping[str, int], given: Callable[[Source], str], moment: str
    ) -> None:
        self.code, self.netlist, self.memories = code, netlist, memories
        self.given, self.moment = given, moment
        self._values: dict[Source, str] = {}
        self._asked: dict[Source, None] = {}  # those that are being worked out, in order
        self._sums: dict[Source, frozenset[Leaf]] = {}

    def of(self, bits: Bits) -> str:
        """Return the value of these bits as one integer."""
        code, parts = self.code, self.netlist.resolved(bits)
        total = width_of(parts)
        if len(parts) == 1:
            return self._part(*parts[0])
        sums = self._many_sums(parts)
        runs: list[tuple[str, int, int, int]] = []  # (value, width, from bit, times)
        at = 0
        for source, low, width in parts:
            value = "0" if at in sums else self._part(source, low, width)
            if runs and width == 1 and runs[-1][:2] == (value, 1):
                runs[-1] = (*runs[-1][:3], runs[-1][3] + 1)  # one bit over and over: a sign
            else:
                runs.append((value, width, at, 1))
            at += width
        constant, found = 0, self._summed(sums, total) if sums else ""
        for value, width, at, times in runs:
            value, width = code.sext(value, 1, times) if times > 1 else value, width * times
            if is_constant(value):
                constant |= int(value) << at
                continue
            value = code.zext(value, width, total)
            value = code.op(f"shl i{total} {value}, {at}") if at else value
            found = code.op(f"or i{total} {value}, {found}") if found else value
        if not found:
            return str(constant)
        return code.op(f"or i{total} {found}, {constant}") if constant else found

    def value(self, source: Source) -> str:
        if isinstance(source, _Known):
            return source.value
        value = self._values.get(source)
        if value is None:
            if source in self._asked:
                raise self._loop(source)
            self._asked[source] = None
            value = self._values[source] = self._worked_out(source)
            del self._asked[source]
        return value

    def _worked_out(self, source: Source) -> str:
        if isinstance(source, Output):
            return self._cell(source.cell, source.width)
        if isinstance(source, Assigned):
            return self._body(source.body, source, str(source.wire.init >> source.at & mask(source.width)))
        if isinstance(source, Row):
            return self._row(source)
        return self.given(source)

    def _loop(self, source: Source) -> UserError:
        asked = list(self._asked)
        return UserError(
            f"{self.netlist.name_of(asked[asked.index(source) :])!r} follows from itself within a slot; put a register "
            "between, or give bits that do not follow from each other signals of their own"
        )

    def _part(self, source: Source | None, low: int, width: int) -> str:
        return str(low) if source is None else self.code.slice(self.value(source), source.width, low, width)

    # Sums modulo 2 of many bits: a checksum, whose bits Amaranth writes one by one.

    def _many_sums(self, parts: list[tuple[Source | None, int, int]]) -> dict[int, frozenset[Leaf]]:
        """The bits of a word that are such sums, if there are many and they are sums of the same bits."""
        if len(parts) < SUM:
            return {}
        found, at = {}, 0
        for source, _, width in parts:
            if width == 1 and len(leaves := self._sum(source)) > 3:
                found[at] = leaves
            at += width
        leaves = frozenset[Leaf]().union(*found.values())
        return found if len(found) >= SUM and len(leaves) <= 3 * len(found) else {}

    def _sum(self, source: Source | None) -> frozenset[Leaf]:
        """The bits whose sum this is; none if it is no sum."""
        if not isinstance(source, Output) or source.cell.kind not in SUMS or source.width != 1:
            return frozenset()
        found = self._sums.get(source)
        if found is None:
            found = frozenset()
            for port in SUMS[source.cell.kind]:
                for one, low, width in self._summands(source.cell.ports[port]):
                    inner = self._sum(one) if width == 1 else frozenset[Leaf]()
                    for bit in range(width):
                        found ^= inner or self._leaf(one, low + bit if one else low >> bit & 1)
            self._sums[source] = found
        return found

    def _summands(self, bits: Bits) -> Runs:
        """Return what drives these bits, for a sum: of a word under a constant mask, the bits that it lets through."""
        parts, total = self.netlist.resolved(bits), width_of(bits)
        source = parts[0][0] if len(parts) == 1 else None
        if not isinstance(source, Output) or source.cell.kind != "$and" or source.width != total:
            return parts
        word, masks = source.cell.ports["A"], self.netlist.resolved(source.cell.ports["B"])
        if len(masks) != 1 or masks[0][0] is not None or min(width_of(word), masks[0][2]) < total:
            return parts
        through = (cut(word, bit, 1) for bit in range(total) if masks[0][1] >> bit & 1)
        return self.netlist.resolved([one for part in through for one in part])

    def _leaf(self, source: Source | None, low: int) -> frozenset[Leaf]:
        """One bit. Bits of equal values are the same."""
        if source is None:
            return frozenset({ONE} if low else ())
        value = self.value(source)
        if is_constant(value):
            return frozenset({ONE} if int(value) >> low & 1 else ())
        return frozenset({(value, source.width, low)})

    def _summed(self, sums: dict[int, frozenset[Leaf]], total: int) -> str:
        """The word of all these sums: the sum of a table's rows, one table for each 8 bits that go in."""
        code, result = self.code, str(sum(1 << at for at, found in sums.items() if ONE in found))
        leaves = sorted(frozenset[Leaf]().union(*sums.values()) - {ONE})
        for first in range(0, len(leaves), TABLE):
            some = leaves[first : first + TABLE]
            columns = [sum(1 << at for at, found in sums.items() if leaf in found) for leaf in some]
            rows = [0]
            for column in columns:
                rows += [row ^ column for row in rows]
            index, place = "", 0
            while place < len(some):
                value, width, low = some[place]
                size = 1  # bits of one value in a row
                while some[place + size : place + size + 1] == [(value, width, low + size)]:
                    size += 1
                part = code.zext(code.slice(value, width, low, size), size, 64)
                part = code.op(f"shl i64 {part}, {place}") if place else part
                index = code.op(f"or i64 {index}, {part}") if index else part
                place += size
            at = code.op(f"getelementptr i{total}, ptr {code.table(total, rows)}, i64 {index}")
            result = code.op(f"xor i{total} {code.op(f'load i{total}, ptr {at}')}, {result}")
        return result

    # Processes.

    def _body(self, body: Body, run: Assigned, value: str) -> str:
        """The value of the run's bits after these statements, if it was `value` before."""
        bits = _known(value, run.width)
        for one in body:
            if not _assigns(one, run):
                continue
            if isinstance(one, Choice):
                bits = _known(self._choice(one, run, self.of(bits)), run.width)
            else:
                begin, end = max(one.at - run.at, 0), min(one.at + one.width - run.at, run.width)
                middle = cut(one.right, begin + run.at - one.at, end - begin)
                bits = [*cut(bits, 0, begin), *middle, *cut(bits, end, run.width - end)]
        return self.of(bits)

    def _choice(self, choice: Choice, run: Assigned, value: str) -> str:
        test, width = self.of(choice.test), width_of(choice.test)
        found = value
        for patterns, body in reversed(choice.cases):
            inner = self._body(body, run, value)
            if not patterns:
                found = inner
            elif inner != found:
                hits = [self._fits(test, width, pattern) for pattern in patterns]
                hit = hits[0]
                for one in hits[1:]:
                    hit = self.code.op(f"or i1 {hit}, {one}")
                found = self.code.select(hit, run.width, inner, found)
        return found

    def _fits(self, value: str, width: int, pattern: str) -> str:
        if not width:
            return "1"
        if "-" in pattern:
            cared = int("".join("0" if one == "-" else "1" for one in pattern), 2)
            value = self.code.op(f"and i{width} {value}, {cared}")
        return self.code.op(f"icmp eq i{width} {value}, {int(pattern.replace('-', '0'), 2)}")

    # Memories.

    def row(self, cell: Cell) -> tuple[str, str]:
        """Return where the row is that a memory's port names, and whether there is such a row."""
        memory, bits, code = cell.memory, cell.ports["ADDR"], self.code
        assert memory is not None
        width = width_of(bits)
        index = code.zext(self.of(bits), width, 64) if width else "0"
        there = "1" if memory.depth >= 1 << width else code.op(f"icmp ult i64 {index}, {memory.depth}")
        index = code.select(there, 64, index, "0")
        base = code.address("%store", self.memories[memory.name])
        return code.op(f"getelementptr [{container(memory.width) // BYTES} x i8], ptr {base}, i64 {index}"), there

    def _row(self, source: Row) -> str:
        memory, (at, there) = source.cell.memory, self.row(source.cell)
        assert memory is not None
        size = min(container(memory.width), WORD)
        at = self.code.address(at, source.word * size // BYTES) if source.word else at
        value = self.code.op(f"load i{size}, ptr {at}, align {size // BYTES}", self.moment)
        return self.code.select(there, source.width, self.code.trunc(value, size, source.width), "0")

    # Cells.

    def _cell(self, cell: Cell, width: int) -> str:
        emit = getattr(self, f"_cell_{cell.kind.removeprefix('$')}", None)
        operation, comparison = OPERATIONS.get(cell.kind), COMPARISONS.get(cell.kind)
        if operation:
            a, b = self._operand(cell, "A", width), self._operand(cell, "B", width)
            return self.code.op(f"{operation} i{width} {a}, {b}")
        if comparison:
            return self._compared(cell, width, comparison)
        if emit is None or not cell.kind.startswith("$"):
            raise unknown(cell)
        return str(emit(cell, width))

    def _operand(self, cell: Cell, port: str, width: int) -> str:
        """A cell's operand, cut or extended to `width`."""
        bits, code = cell.ports[port], self.code
        size = width_of(bits)
        if not size:
            return "0"
        value = self.of(bits)
        if size >= width:
            return code.trunc(value, size, width)
        return code.sext(value, size, width) if cell.signed(port) else code.zext(value, size, width)

    def _compared(self, cell: Cell, width: int, test: str) -> str:
        size = max(1, width_of(cell.ports["A"]), width_of(cell.ports["B"]))
        test = test if test in ("eq", "ne") else f"{'s' if cell.signed('A') else 'u'}{test}"
        a, b = self._operand(cell, "A", size), self._operand(cell, "B", size)
        return self.code.zext(self.code.op(f"icmp {test} i{size} {a}, {b}"), 1, width)

    def _cell_not(self, cell: Cell, width: int) -> str:
        return self.code.op(f"xor i{width} {self._operand(cell, 'A', width)}, -1")

    def _cell_neg(self, cell: Cell, width: int) -> str:
        return self.code.op(f"sub i{width} 0, {self._operand(cell, 'A', width)}")

    def _cell_reduce_bool(self, cell: Cell, width: int) -> str:
        size = width_of(cell.ports["A"])
        return self.code.zext(self.code.op(f"icmp ne i{size} {self.of(cell.ports['A'])}, 0"), 1, width) if size else "0"

    _cell_reduce_or = _cell_reduce_bool

    def _cell_reduce_and(self, cell: Cell, width: int) -> str:
        size = width_of(cell.ports["A"])
        return (
            self.code.zext(self.code.op(f"icmp eq i{size} {self.of(cell.ports['A'])}, -1"), 1, width) if size else "1"
        )

    def _cell_reduce_xor(self, cell: Cell, width: int) -> str:
        size = width_of(cell.ports["A"])
        if not size:
            return "0"
        self.code.tables[f"declare i{size} @llvm.ctpop.i{size}(i{size})"] = None
        ones = self.code.op(f"call i{size} @llvm.ctpop.i{size}(i{size} {self.of(cell.ports['A'])})")
        return self.code.zext(self.code.trunc(ones, size, 1), 1, width)

    def _cell_mux(self, cell: Cell, width: int) -> str:
        chosen, a, b = (self.of(cell.ports[port]) for port in "SAB")
        return self.code.select(chosen, width, b, a)

    def _cell_shl(self, cell: Cell, width: int) -> str:
        return self._shifted("shl", cell, width, width)

    def _cell_shr(self, cell: Cell, width: int) -> str:
        return self._shifted("lshr", cell, width, max(width, width_of(cell.ports["A"])))

    def _cell_sshr(self, cell: Cell, width: int) -> str:
        direction = "ashr" if cell.signed("A") else "lshr"
        return self._shifted(direction, cell, width, max(width, width_of(cell.ports["A"])))

    _cell_shift = _cell_sshr

    def _shifted(self, direction: str, cell: Cell, width: int, size: int) -> str:
        """LLVM leaves a shift by the whole width or more undefined: it gives 0, or the sign."""
        amount = width_of(cell.ports["B"])
        if cell.signed("B"):
            raise unknown(cell)
        wide = max(size, amount)
        a, b = self._operand(cell, "A", wide), self._operand(cell, "B", wide)
        fits = "1" if mask(amount) < wide else self.code.op(f"icmp ult i{wide} {b}, {wide}")
        most = str(wide - 1) if direction == "ashr" else "0"
        moved = self.code.op(f"{direction} i{wide} {a}, {self.code.select(fits, wide, b, most)}")
        moved = moved if direction == "ashr" else self.code.select(fits, wide, moved, "0")
        return self.code.trunc(moved, wide, width)

    def _cell_divfloor(self, cell: Cell, width: int) -> str:
        return self._divided(cell, width)[0]

    def _cell_modfloor(self, cell: Cell, width: int) -> str:
        return self._divided(cell, width)[1]

    def _divided(self, cell: Cell, width: int) -> tuple[str, str]:
        """The quotient, rounded down, and the rest. By 0: something, as RTLIL has it."""
        size, code = 1 + max(width, *(width_of(cell.ports[port]) for port in "AB")), self.code
        a, b = self._operand(cell, "A", size), self._operand(cell, "B", size)
        b = code.select(code.op(f"icmp eq i{size} {b}, 0"), size, "1", b)
        sign = "s" if cell.signed("A") else "u"
        quotient, rest = code.op(f"{sign}div i{size} {a}, {b}"), code.op(f"{sign}rem i{size} {a}, {b}")
        if sign == "s":
            other_sign = code.op(f"icmp slt i{size} {code.op(f'xor i{size} {rest}, {b}')}, 0")
            up = code.op(f"and i1 {code.op(f'icmp ne i{size} {rest}, 0')}, {other_sign}")
            quotient = code.select(up, size, code.op(f"sub i{size} {quotient}, 1"), quotient)
            rest = code.select(up, size, code.op(f"add i{size} {rest}, {b}"), rest)
        return code.trunc(quotient, size, width), code.trunc(rest, size, width)


SUMS = {"$xor": "AB", "$reduce_xor": "A"}  # cells, and the ports of which they sum up the bits
OPERATIONS = {"$and": "and", "$or": "or", "$xor": "xor", "$add": "add", "$sub": "sub", "$mul": "mul"}
COMPARISONS = {"$eq": "eq", "$ne": "ne", "$lt": "lt", "$le": "le", "$gt": "gt", "$ge": "ge"}


@dataclass(eq=False)
class _Known(Source):
    value: str


def _known(value: str, width: int) -> Bits:
    """A value that is there, as bits."""
    return [(Wire("", width, sources=[_Known(0, width, value)]), 0, width)]


def _assigns(one: Assignment | Choice, run: Assigned) -> bool:
    if isinstance(one, Choice):
        return run.wire in one.wires and any(_assigns(inner, run) for _, body in one.cases for inner in body)
    return one.wire is run.wire and one.at < run.at + run.width and run.at < one.at + one.width
