"""The instructions of one LLVM function. A value is the text of an SSA name (`%v7`) or of a constant, in decimal."""

BYTES = 8  # bits


def container(width: int) -> int:
    """Return the bits of memory that hold a value: the least of 8, 16, 32 and 64, or words of 64."""
    return next((size for size in (8, 16, 32, 64) if width <= size), -(-width // 64) * 64)


def is_constant(value: str) -> bool:
    return value[0] != "%"


def mask(width: int) -> int:
    return (1 << width) - 1


class Code:
    """Equal instructions are written once. `tables` stand before the function: constants, and LLVM's own functions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.tables: dict[str, None] = {}
        self._made: dict[tuple[str, str], str] = {}

    def op(self, text: str, moment: str = "", after: str = "") -> str:
        """Return the value of an instruction. `moment` tells loads apart between which memory changes."""
        name = self._made.get((text, moment))
        if name is None:
            name = self._made[text, moment] = f"%v{len(self._made)}"
            self.lines.append(f"  {name} = {text}{after}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def table(self, width: int, rows: list[int]) -> str:
        """Return the name of a constant table."""
        name = f"@{self.name}_table{len(self.tables)}"
        values = ", ".join(f"i{width} {row}" for row in rows)
        self.tables[f"{name} = private unnamed_addr constant [{len(rows)} x i{width}] [{values}]"] = None
        return name

    def select(self, test: str, width: int, one: str, other: str) -> str:
        if one == other or test in ("0", "1"):
            return other if test == "0" else one
        return self.op(f"select i1 {test}, i{width} {one}, i{width} {other}")

    def zext(self, value: str, width: int, to: int) -> str:
        return value if width == to or is_constant(value) else self.op(f"zext i{width} {value} to i{to}")

    def sext(self, value: str, width: int, to: int) -> str:
        if width == to:
            return value
        if is_constant(value):
            return str(int(value) | (mask(to) ^ mask(width) if int(value) >> width - 1 & 1 else 0))
        return self.op(f"sext i{width} {value} to i{to}")

    def trunc(self, value: str, width: int, to: int) -> str:
        if width == to:
            return value
        return str(int(value) & mask(to)) if is_constant(value) else self.op(f"trunc i{width} {value} to i{to}")

    def slice(self, value: str, width: int, low: int, size: int) -> str:
        if is_constant(value):
            return str(int(value) >> low & mask(size))
        return self.trunc(self.op(f"lshr i{width} {value}, {low}") if low else value, width, size)

    def address(self, base: str, offset: int | str) -> str:
        return self.op(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, base: str, offset: int, width: int) -> str:
        """A value of `width` bits from its container, whose other bits are 0."""
        size = container(width)
        known = ", !range !0" if width == 1 else ""
        at = self.address(base, offset)
        return self.trunc(self.op(f"load i{size}, ptr {at}, align {min(size // BYTES, 8)}", after=known), size, width)

    def store(self, base: str, offset: int, width: int, value: str) -> None:
        size = container(width)
        value, at = self.zext(value, width, size), self.address(base, offset)
        self.do(f"store i{size} {value}, ptr {at}, align {min(size // BYTES, 8)}")

    def merged(self, width: int, old: str, new: str, enabled: str) -> str:
        """The bits of `new` that are enabled, and the others of `old`."""
        different = self.op(f"xor i{width} {old}, {new}")
        return self.op(f"xor i{width} {old}, {self.op(f'and i{width} {different}, {enabled}')}")
