"""The front end finds every error and makes a typed tree; the lowering only makes IR of it."""

import re
from pathlib import Path

import pytest

import lanai_firmware.compiler as compiler
from lanai_firmware.compiler import CompileError, Program, statement_tree, tree

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
