"""The typed tree: firmware whose every error has been found. The front end makes it, `lowering`
makes IR of it.

A node is evaluated once, where it is first met; another node may refer to its result. Kinds are
those of the language: u32, i32, bool, a PtrType, a Reference, None for no value, and int for a
literal without a type yet. `line` is that of the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..lang.integers import Word


@dataclass(frozen=True, eq=False)
class Value:
    """A computed value."""

    kind: Any

    @property
    def constant(self) -> bool:
        return False

    @property
    def python(self) -> Any:
        """The constant itself, so that folding computes with the very objects CPython would use."""
        return None


@dataclass(frozen=True, eq=False)
class Constant(Value):
    """A Python int, bool or Word."""

    held: Any

    @property
    def constant(self) -> bool:
        return True

    @property
    def python(self) -> Any:
        return self.held


def constant(python: Any) -> Constant:
    if isinstance(python, bool):
        return Constant(bool, python)
    return Constant(python.wide if isinstance(python, Word) else int, python)


@dataclass(frozen=True, eq=False)
class Variable(Value):
    """The value that a variable holds; of a Reference, the address."""

    name: str


@dataclass(frozen=True, eq=False)
class Binary(Value):
    """`operation` is IRBuilder's name of it: add, sub, mul, and_, or_, xor."""

    operation: str
    left: Value
    right: Value


@dataclass(frozen=True, eq=False)
class Shift(Value):
    symbol: str
    left: Value
    amount: Value


@dataclass(frozen=True, eq=False)
class Divide(Value):
    """`//` or `%`. `helper` is the run-time function that does it for i32."""

    symbol: str
    left: Value
    right: Value
    helper: str
    line: int


@dataclass(frozen=True, eq=False)
class Compare(Value):
    symbol: str
    left: Value
    right: Value
    signed: bool


@dataclass(frozen=True, eq=False)
class Unary(Value):
    """`operation` is IRBuilder's name of it: neg, not_."""

    operation: str
    operand: Value


@dataclass(frozen=True, eq=False)
class Narrow(Value):
    """A word with the bits cleared that `bits` do not hold."""

    operand: Value
    bits: int


@dataclass(frozen=True, eq=False)
class Widen(Value):
    """A bool as 0 or 1."""

    operand: Value


@dataclass(frozen=True, eq=False)
class Truth(Value):
    """The test that a value counts as true."""

    operand: Value


@dataclass(frozen=True, eq=False)
class ToWord(Value):
    operand: Value


@dataclass(frozen=True, eq=False)
class FromWord(Value):
    """The pointer to an address; a literal or Word as address is known when compiling."""

    address: Value


@dataclass(frozen=True, eq=False)
class Cast(Value):
    """The same address as another type."""

    operand: Value


@dataclass(frozen=True, eq=False)
class Global(Value):
    symbol: str


@dataclass(frozen=True, eq=False)
class Offset(Value):
    base: Value
    count: int


@dataclass(frozen=True, eq=False)
class Index(Value):
    """`base` moved by `index` elements of `size` bytes. `negative`: backwards."""

    base: Value
    index: "Value | int"
    size: int
    negative: bool = False


@dataclass(frozen=True, eq=False)
class Load(Value):
    """The value at `address`, in memory of the kind `stored`."""

    address: Value
    stored: Any


@dataclass(frozen=True, eq=False)
class RegisterLoad(Value):
    address: int


@dataclass(frozen=True, eq=False)
class RegisterStore(Value):
    address: int
    given: Value


@dataclass(frozen=True, eq=False)
class Call(Value):
    """A firmware function by its symbol. `arguments` are in the order of evaluation, each with its
    position.

    `line` is None where the helpers of the run-time are called.
    """

    symbol: str
    arguments: Sequence[tuple[int, Value]]
    line: int | None = None


@dataclass(frozen=True, eq=False)
class BitCount(Value):
    """LLVM's ctpop, ctlz or cttz; the last two have a `flagged` second operand."""

    intrinsic: str
    flagged: bool
    operand: Value


@dataclass(frozen=True, eq=False)
class Extreme(Value):
    """minimum or maximum."""

    name: str
    first: Value
    second: Value


@dataclass(frozen=True, eq=False)
class Barrier(Value):
    pass


@dataclass(frozen=True, eq=False)
class Local(Value):
    """Zeroed room on the stack."""

    size: int
    align: int
    fill: str  # symbol of the run-time function that sets it to zero


@dataclass(frozen=True, eq=False)
class Trap(Value):
    line: int
    reason: str


# Conditions: they branch, and evaluate no more than needed.


@dataclass(frozen=True)
class Leaf:
    value: Value
    line: int


@dataclass(frozen=True)
class Not:
    test: "Test"


@dataclass(frozen=True)
class Several:
    """`and` if `all`, else `or`."""

    tests: Sequence["Test"]
    all: bool


Test = Leaf | Not | Several


@dataclass(frozen=True, eq=False)
class Logical(Value):
    """A condition as a value."""

    test: Test


@dataclass(frozen=True, eq=False)
class Choice(Value):
    test: Test
    yes: Value
    no: Value
