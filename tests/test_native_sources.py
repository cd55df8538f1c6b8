"""Native sources keep to the width that ruff holds for Python."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("hdl", "firmware", "host", "sim", "tests", "examples")
SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}
WIDTH = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["line-length"]


def too_wide(text):
    """Return the numbers of the lines that are too wide."""
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]


def test_no_line_is_too_wide():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    assert {path.relative_to(ROOT).as_posix() for path in files if too_wide(path.read_text())} == set()


def test_a_line_that_is_too_wide_is_found():
    assert too_wide("\n" + "x" * WIDTH + "\n" + "x" * (WIDTH + 1)) == [3]
