"""The types of firmware code that type checkers see: `lang/__init__.pyi`."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

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


def check(folder, lines):
    """Return mypy's output on the firmware with one more line in `main`, for each of `lines`. It runs in a process
    of its own, because it meddles with the garbage collector of its process."""
    files = {line: folder / f"program_{number}.py" for number, line in enumerate(lines)}
    for line, path in files.items():
        path.write_text(textwrap.dedent(FIRMWARE) + f"    {line}\n")
    options = ["--strict", "--no-error-summary", "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", *options, *(path.name for path in files.values())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    said = done.stdout.splitlines()
    return {line: [text for text in said if text.startswith(f"{path.name}:")] for line, path in files.items()}


def test_good_firmware_is_accepted_and_mistakes_are_named(tmp_path):
    good = "return other.pieces[1].length"
    wrong = {
        "return first.knd": '"Node" has no attribute "knd"; maybe "kind"?',
        "return first.pieces[0].size": '"Piece" has no attribute "size"',
        "return find(first.pieces)": 'Argument 1 to "find" has incompatible type "Piece"; expected "Node"',
        "return find(first, sort=1)": 'Unexpected keyword argument "sort"',
        "first.next = first.pieces": "Incompatible types in assignment",
    }
    said = check(tmp_path, [good, *wrong])
    assert said[good] == []
    for line, text in wrong.items():
        assert any(text in one for one in said[line]), line


def test_the_stub_has_every_name():
    path = Path(lang.__file__).with_suffix(".pyi")
    (names,) = [node.value for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign) and
                isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"]  # fmt: skip
    assert ast.literal_eval(names) == lang.__all__
