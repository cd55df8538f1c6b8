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
