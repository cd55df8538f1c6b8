"""The first line of a docstring says what the thing is or does."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("hdl", "firmware", "host", "sim", "tests", "examples")
QUESTION = re.compile(r"(What|Whether|Of|Those|As|Who|That|Which|How|Where|When|Why|If)\b")


def questions(tree):
    """Yield line and first words of each docstring that begins as a question does, or a half sentence."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node) or ""
            if QUESTION.match(text):
                yield node.body[0].lineno, text.partition("\n")[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_begins_as_a_question(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in questions(ast.parse(path.read_text()))
    ]
    assert not found, 'begin with "Return ...", "Send ...", "A queue of ...":\n' + "\n".join(found)


def test_a_question_would_be_seen():
    tree = ast.parse('def place():\n    """Where it is."""\n\n\ndef other():\n    """Return it."""\n')
    assert list(questions(tree)) == [(2, "Where it is.")]
