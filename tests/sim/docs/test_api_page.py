"""The examples of docs/api.md print what the page shows."""

import doctest

from . import pages


def test_the_examples_of_the_page(monkeypatch):
    monkeypatch.chdir(pages.ROOT)
    options = doctest.ELLIPSIS | doctest.REPORT_ONLY_FIRST_FAILURE
    page = str(pages.ROOT / "docs" / "api.md")
    failed, tried = doctest.testfile(page, module_relative=False, globs={"__name__": "__main__"}, optionflags=options)
    assert tried > 20
    assert failed == 0
