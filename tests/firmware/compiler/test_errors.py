"""Refusals of the compiler: where, what is not allowed, what to write instead."""

import re
from pathlib import Path

import pytest

import lanai_firmware.compiler as compiler
from lanai_firmware.compiler import CompileError, Effort, Program, build, lower, statement_tree, tree
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError

TYPES = """
class Node(Struct):
    next: Ptr["Node"]
    value: u32
    half: u16
state: Global[Node]
table: Global[Array[u32, 4]]
STATUS = register(u32, 0xFF008)
RATIO = 0.5
NAMES = {"a": 1}
@firmware
def helper(x: u32) -> u32:
    return x
@firmware
def main() -> u32:
    x = u32(1)
    y = i32(1)
"""
FIRST_LINE = 5 + TYPES.count("\n")

# A line of main's body, and what the error says. {column} is where it points to.
REFUSED = [
    ("x = 1.5", 9, "the float 1.5 is not in the language; scale to an integer"),
    ("x = u32(x * RATIO)", 17, "RATIO is the float 0.5"),
    ("x = float(x)", 9, "'float' is not a firmware function; there are no floats"),
    ("d = {}", 9, "a dict is not in the language; use an Array indexed by a number"),
    ("x = NAMES['a']", 9, "NAMES is a dict, not in the language; use Global[Array[T, n]]"),
    ("d = [1, 2]", 9, "a list is not in the language"),
    ("d = [i for i in range(3)]", 9, "a comprehension is not in the language; use a for loop"),
    ("x = x + y", 9, "`+` mixes u32 and i32; convert one: u32(x) or i32(x)"),
    ("x = x if x == y else x", 14, "`==` mixes u32 and i32"),
    ("x = 5", 5, "would not wrap; write u32(5)"),
    ("z = 5", 5, "would not wrap; write u32(5)"),
    ("x = y", 5, "'x' is u32 and is given i32; a variable keeps its type"),
    ("x = x / 2", 9, "write `//`"),
    ("x = x ** 2", 9, "write `//`, `*`, shifts or a loop"),
    ("x = x // 0", 9, "`//` by zero"),
    ("x = 5 if x < 1 << 40 else x", 14, "`<` of u32 and 1099511627776, which u32 does not hold"),
    ("x = u32(1) if x > -1 else x", 19, "`>` of u32 and -1, which u32 does not hold; write u32(-1)"),
    ("print(x)", 5, "'print' is not a firmware function; write to a register"),
    ("x = min(x, 3)", 9, "write minimum(a, b)"),
    ("x = helper(x, x)", 9, "helper takes 1 arguments, not 2"),
    ("x = helper(y)", 16, "i32 given for 'x' of helper, which is u32; convert it: u32(x)"),
    ("x = helper(-1)", 16, "-1 given for 'x' of helper does not fit u32; write u32(-1)"),
    ("x = helper(y=x)", 9, "helper has no parameter 'y'"),
    ("x = minimum(a=x, b=x)", 9, "minimum takes its arguments by position"),
    ("x = state.colour", 9, "Node has no member 'colour'; it has next, value, half"),
    ("state.next = address_of(table)", 5, "convert it: cast(Node, x)"),
    ("x = table[4]", 9, "index 4 is outside Array[u32, 4]"),
    ("x = table[-1]", 9, "index -1 is outside"),
    ("x = table[y:y]", 9, "a slice is not in the language; use copy"),
    ("x, y = y, x", 5, "unpacking is not in the language"),
    ("x = y = x", 5, "several targets"),
    ("x = u32(z)", 13, "'z' is not known here"),
    ("if x: w = u32(1)\n    x = w", 9, "'w' may have no value here"),
    ("for w in range(3): pass\n    x = w", 9, "'w' may have no value here"),
    ("for w in table: pass", 5, "runs over range() only"),
    ("for w in range(x, y): pass", 14, "`range` mixes u32 and i32"),
    ("for w in range(x, -1, -1): pass", 14, "`range` of u32 and -1, which u32 does not hold"),
    ("x = x // -3", 9, "`//` of u32 and -3, which u32 does not hold; write u32(-3)"),
    ("x = u32(y // 0xFFFFFFFF)", 13, "`//` of i32 and 4294967295, which i32 does not hold"),
    ("x = -16 >> x", 9, "`>>` of u32 and -16, which u32 does not hold"),
    ("for w in range(0, 9, x): pass", 14, "the step of range must be a constant"),
    ("while x: pass\n    else: pass", 5, "`else` of a loop"),
    ("try: pass\n    except: pass", 5, "try is not in the language"),
    ("raise ValueError", 5, "raise is not in the language"),
    ("import os", 5, "an import in a function"),
    ("global state", 5, "global is not in the language"),
    ("lambda: x", 5, "lambda is not in the language"),
    ("x = STATUS", 5, "variables hold integers, bools and pointers"),
    ("x = STATUS.value", 9, "a register has no 'value'; write .load()"),
    ("x = address_of(x)", 9, "a value has no address"),
    ("x = u32(None)", 13, "None is not in the language; write null(T)"),
    ("x = u32('text')", 13, "use integers"),
    ("x = 0 < x < 5", 9, "chained comparison"),
    ("x = state", 5, "'x' is u32 and is given Node"),
    ("b = x and x", 9, "write x != 0"),
    ("b = 1 if x else 2", 9, "give both one type"),
    ("b: i32 = x", 5, "declared i32 and given u32"),
    ("b: u32", 5, "a type without a value"),
    ("for w in range(3):\n        s = local(Array[u32, 4])", 13, "local() in a loop"),
    ("return y", 5, "i32 given for the result of main, which is u32"),
    ("return", 5, "returns nothing where u32 was declared"),
    ("trap(x)", 5, "takes one literal text"),
    ("state.next - state.next", 5, "pointers are not subtracted"),
    ("x = state.value if state.next < state.next else x", 24, "use == or !="),
    ("x = u16(state.next)", 9, "loses bits"),
]


@pytest.mark.parametrize(("line", "column", "message"), REFUSED, ids=[line.split("\n")[0] for line, _, _ in REFUSED])
def test_refused(module, line, column, message):
    m = module(TYPES + f"    {line}\n    return x\n")
    with pytest.raises(CompileError, match=re.escape(message)) as caught:
        lower(m.main)
    number = FIRST_LINE + (line.count("\n") if "\n    x = w" in line or "local(" in line else 0)
    assert f"{m.__name__}.py:{number}:{column}: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@firmware\ndef main(x) -> u32:\n    return x\n", "'x' has no type; annotate it"),
        ("@firmware\ndef main():\n    pass\n", "'return' has no type; annotate it, `-> None`"),
        ("@firmware\ndef main() -> u32:\n    pass\n", "main may end without a value; add a return"),
        ("def main() -> u32:\n    return 5\n", "has no @firmware function main"),
        (
            "@firmware\ndef main(x: u32) -> u32:\n    return x\n",
            "takes 1 arguments; where firmware starts it takes none",
        ),
    ],
)
def test_entry(module, text, message):
    m = module(text)
    with pytest.raises(UserError, match=message):
        build(m.__file__)


def test_recursion_must_be_bounded(module):
    m = module("""
        @firmware
        def even(n: u32) -> u32:
            return u32(1) if n == 0 else odd(n - 1)
        @firmware
        def odd(n: u32) -> u32:
            return u32(0) if n == 0 else even(n - 1)
        @firmware
        def main() -> u32:
            return even(5)
    """)
    with pytest.raises(CompileError, match=r":7:1: even calls itself .* declare how deep: @firmware\(depth=16\)"):
        lower(m.main)


def test_recursion_past_the_stack_is_refused(module):
    m = module("""
        @firmware(depth=100000)
        def fall(n: u32) -> u32:
            return n if n == 0 else fall(n - 1) + n
        @firmware
        def main() -> u32:
            return fall(5)
    """)
    with pytest.raises(
        UserError, match=r"the stack needs \d+ bytes and \d+ are left of 1044480 .*lower a declared depth"
    ):
        build(m.main)


def test_recursion_deeper_than_declared_stops(module, lanai):
    m = module("""
        @firmware(depth=4)
        def fall(n: u32) -> u32:
            return n if n == 0 else fall(n - 1) + n
        @firmware
        def main() -> u32:
            return fall(3) + fall(4)
    """)
    machine = lanai(build(m.main))
    machine.run()
    image = machine.image
    assert machine.processor.trap.pc == image.address("__trap")
    assert "fall calls itself deeper than the 4 declared" in image.trap_text(machine.word("__trap_site"))


def test_image_larger_than_sram(module):
    m = module("""
        big: Global[Array[u32, 300000]]
        @firmware
        def main() -> u32:
            return big[5]
    """)
    with pytest.raises(
        UserError, match=r"needs \d+ bytes \(stub 48, text \d+, .*zeroed 12000\d\d\) and SRAM has 1044480"
    ):
        build(m.main)


def test_undefined_names_of_modules(module):
    m = module("""
        from enum import IntEnum
        class Color(IntEnum):
            RED = 1
        @firmware
        def main() -> u32:
            return u32(Color.BLUE)
    """)
    with pytest.raises(CompileError, match="Color has no 'BLUE'"):
        lower(m.main)


# The front end finds every error and makes a typed tree; the lowering only makes IR of it.


LOWERING = Path(compiler.__file__).parent / "lowering"
TWO = """
    numbers: Global[Array[u32, 4]]
    @firmware
    def second(x: u32) -> u32:
        {second}
    @firmware
    def main() -> u32:
        numbers[1] += second(3)
        return numbers[1]
"""


def test_a_program_is_checked_without_ir(module):
    program = Program([module(TWO.format(second="return x + 1")).main])
    program.check()
    assert [name.split(".")[-1] for name in program.bodies] == ["main", "second"]
    assert [name.split(".")[-1] for name in program.globals] == ["numbers"]
    assert not program.functions
    store, given_back = program.bodies[next(iter(program.bodies))].statements
    assert isinstance(store, statement_tree.Store)
    assert isinstance(store.value, tree.Binary)
    assert store.value.left.address is store.address  # `+=` computes the address once
    assert isinstance(given_back, statement_tree.Return)


def test_an_error_in_any_function_ends_the_check(module):
    program = Program([module(TWO.format(second="return x + i32(1)")).main])
    with pytest.raises(CompileError, match=r":9:12: `\+` mixes u32 and i32"):
        program.check()
    assert not program.functions


def test_the_lowering_refuses_nothing():
    files = list(LOWERING.glob("*.py"))
    assert len(files) >= 4
    for path in files:
        assert not re.search(r"\bfail\(|\braise\b|CompileError|UserError", path.read_text()), path


def test_every_node_of_the_tree_is_lowered():
    from lanai_firmware.compiler.lowering import expressions, statements

    values = {kind for kind in vars(tree).values() if isinstance(kind, type) and issubclass(kind, tree.Value)}
    assert values - {tree.Value} == set(expressions.HANDLERS)
    assert set(statement_tree.Statement.__args__) == set(statements.HANDLERS)


def test_len_leaves_nothing_out_that_python_would_do(module, run_lanai):
    text = """
        class Node(Struct):
            words: Array[u32, 4]
        nodes: Global[Array[Node, 2]]
        @firmware
        def pick(n: u32) -> Ptr[Node]:
            return address_of(nodes) + n
        @firmware
        def main() -> u32:
            {line}
    """
    with pytest.raises(CompileError, match=r"len\(\) does not call what makes its array; give that a name first"):
        run_lanai(module(text.format(line="return u32(len(pick(1).words))")).main)
    good = "node = pick(1)\n            return u32(len(node.words) + len(nodes[1].words))"
    assert run_lanai(module(text.format(line=good)).main) == 8


# The compiler's effort: the same answer, in fewer or more instructions.


SOURCE = """
    table: Global[Array[u32, 8]]
    @firmware
    def twice(x: u32) -> u32:
        return x + x
    @firmware
    def main() -> u32:
        total = u32(0)
        for i in range(8):
            table[i] = twice(u32(i))
            total += table[i]
        return total
"""

BELOW_A_POINTER = """
    class Counts(Struct):
        each: u32
    counts: Global[Counts]
    table: Global[Array[u32, 8]]
    @firmware
    def end(first: u32) -> None:
        table[first + counts.each - 1] = u32(7)
    @firmware
    def main() -> u32:
        counts.each = 3
        end(u32(1))
        return table[3]
"""


def test_less_effort_gives_the_same_answer_later(module, lanai):
    m = module(SOURCE)
    functions, steps = [], []
    for effort in (Effort.FULL, Effort.CALLS, Effort.WRITTEN):
        image = build(m.main, use_cache=False, effort=effort)
        machine = lanai(image)
        assert machine.run() == 56
        functions.append(sum("twice" in symbol.name for symbol in image.code))
        steps.append(machine.processor.retired)
    assert functions == [0, 1, 1]
    assert steps == sorted(set(steps))


def test_what_llvm_refuses_as_written_is_optimized(module, run_lanai):
    """A store below a pointer aborts LLVM's encoder, unless it is optimized."""
    assert run_lanai(module(BELOW_A_POINTER).main, effort=Effort.WRITTEN) == 7


@pytest.mark.ci
def test_the_firmware_of_mpi_np_is_compiled_with_any_effort():
    full, calls, written = (FIRMWARE.image(lanai41(), McpConfig(optimize=effort)) for effort in (2, 1, 0))
    assert len(full.code) < len(calls.code) <= len(written.code)
    assert len(calls.loaded) < len(written.loaded)
