"""README is short, and its first screen says what this is and for whom."""

import re

from . import pages


def test_readme_is_short_and_begins_with_its_doors_and_the_picture():
    lines = (pages.ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    first = "\n".join(lines[:20])
    doors = ("test your MPI program", "study a network", "write gateware or firmware", "teach")
    assert all(f"**{door}**" in first for door in doors)
    assert "(docs/images/compare.svg)" in first


def test_readmes_links_lead_somewhere():
    targets = re.findall(r"\]\((?!http)([^)#]+)", (pages.ROOT / "README.md").read_text())
    assert len(targets) > 20
    assert [target for target in targets if not (pages.ROOT / target).exists()] == []


def test_source_files_that_pages_name_are_there():
    named = re.compile(r"`((?:hdl|firmware|host|sim)/lanai_\w+/[\w/.]*\w|(?:tests|examples)/[\w/.]*\w)`")
    found = {(page, path) for page in pages.ROOT.glob("docs/**/*.md") for path in named.findall(page.read_text())}
    assert len(found) > 100
    assert sorted(f"{page.name}: {path}" for page, path in found if not (pages.ROOT / path).exists()) == []
