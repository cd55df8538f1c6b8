"""Every program of the corpus: each wrong one is found, with the right class and line, and no right one is blamed."""

from pathlib import Path

import pytest

from .programs import has_compiler, programs
from .test_findings import agrees, checked

PAGE = Path(__file__).parents[3] / "docs" / "check.md"
ALL = programs()
RIGHT = sum(one.right for one in ALL)
EACH = 12  # programs of a test


def test_half_of_the_programs_are_right():
    assert len(ALL) >= 400
    assert len(ALL) <= 2 * RIGHT


def test_the_page_tells_what_these_tests_hold(request):
    wrong = len(ALL) - RIGHT
    told = (
        f"`lanai check` blames 0 of the {RIGHT} right programs of its corpus and finds {wrong} of {wrong} wrong ones, "
        "each with the right class and line.\n"
    )
    page = PAGE.read_text()
    shown = next(line for line in page.splitlines(keepends=True) if line.startswith("`lanai check` blames"))
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(page.replace(shown, told))
    else:
        assert shown == told


@pytest.mark.ci
@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
@pytest.mark.parametrize("part", range(0, len(ALL), EACH))
def test_corpus(tmp_path, part):
    wrong = []
    for number, program in enumerate(ALL[part : part + EACH]):
        folder = tmp_path / str(number)
        folder.mkdir()
        done, document = checked(program, folder)
        if not agrees(program, document) or (program.right and done.returncode):
            wrong.append((program.name, done.returncode, done.stderr))
    assert wrong == []
