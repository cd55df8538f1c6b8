"""What type checkers see of firmware code: `lang/__init__.pyi`."""

import ast
import textwrap
from pathlib import Path

from mypy import api

import lanai_firmware.lang as lang

FIRMWARE = """
    from lanai_firmware.lang import Array, Global, Ptr, Struct, address_of, at, firmware, null, u8, u32
    class Piece(Struct):
        length: u32
    class Node(Struct):
        next: Ptr["Node"]
        pieces: Array[Piece, 2]
        kind: u8
    nodes: Global[Array[Node, 4]]
    @firmware
    def find(node: Ptr[Node], kind: u32 = 3) -> Ptr[Node]:
        while node:
            if node.kind == kind:
                return node
            node = node.next
        return null(Node)
    @firmware
    def main() -> u32:
        first = address_of(nodes[0]) + 1
        first.kind = u32(7) + 1
        other = find(at(Ptr[Node], u32(first)), kind=4)
"""


def check(tmp_path, line):
    """What mypy says of the firmware with one more line in `main`."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(FIRMWARE) + f"    {line}\n")
    out, _, code = api.run(["--strict", "--no-error-summary", "--follow-imports=silent", str(path)])
    return out.replace(f"{path}:", "").strip(), code


def test_good_firmware_is_accepted_and_mistakes_are_named(tmp_path):
    assert check(tmp_path, "return other.pieces[1].length") == ("", 0)
    wrong = {
        "return first.knd": '"Node" has no attribute "knd"; maybe "kind"?',
        "return first.pieces[0].size": '"Piece" has no attribute "size"',
        "return find(first.pieces)": 'Argument 1 to "find" has incompatible type "Piece"; expected "Node"',
        "return find(first, sort=1)": 'Unexpected keyword argument "sort"',
        "first.next = first.pieces": "Incompatible types in assignment",
    }
    for line, text in wrong.items():
        said, code = check(tmp_path, line)
        assert code == 1, line
        assert text in said


def test_the_stub_has_every_name():
    path = Path(lang.__file__).with_suffix(".pyi")
    (names,) = [node.value for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign) and
                isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"]  # fmt: skip
    assert ast.literal_eval(names) == lang.__all__
