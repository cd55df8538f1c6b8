"""The commands of docs/results.md print what the page shows, apart from dates."""

import re

import pytest

from . import pages

PAGE = pages.ROOT / "docs" / "results.md"
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
SHOWN_DATE = "2026-11-27 02:25"


@pytest.mark.ci
def test_the_page_shows_what_is_printed(tmp_path, request):
    (tmp_path / "examples").symlink_to(pages.ROOT / "examples")
    text = PAGE.read_text()
    found = []
    for step in pages.steps(text):
        printed = DATE.sub(SHOWN_DATE, pages.run(step.commands, tmp_path))
        if step.shown:
            body = text[slice(*step.shown)]
            found.append((step.shown, pages.excerpt(body, printed)))
    assert found
    pages.check(PAGE, found, request.config.getoption("--refresh-docs"))
