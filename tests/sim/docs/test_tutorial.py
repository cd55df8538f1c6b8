"""Every step of the tutorial works, in the order of the page, and prints what the page shows. The
same for the outputs of other pages."""

import re
import subprocess
import sys

import pytest
from pairs import first_of

from . import pages

TUTORIAL = pages.ROOT / "docs" / "tutorial.md"
PAGES = [
    pages.ROOT / page
    for page in (
        "README.md",
        "docs/first-session.md",
        "docs/running.md",
        "docs/compare.md",
        "docs/reference/bip.md",
        "docs/reference/t3d.md",
        "docs/reference/sci.md",
    )
]


@pytest.fixture
def refresh(request):
    return request.config.getoption("--refresh-docs")


@pytest.mark.ci
def test_the_tutorials_steps(tmp_path, refresh):
    page = TUTORIAL.read_text()
    steps = pages.steps(page)
    assert len(steps) >= 6, "the tutorial has lost its steps"
    found = []
    for step in steps:
        printed = pages.run(step.commands, tmp_path)
        if step.shown:
            found.append((step.shown, pages.excerpt(page[slice(*step.shown)], printed)))
    assert len(found) >= 6, "the tutorial has lost its outputs"
    (script,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert re.fullmatch(r"\d+\.\d{3} µs from the request to the data, \d+ messages\n", shown)
    assert {"ping.html", "ping.pftrace", "firmware.svg"} <= {path.name for path in tmp_path.iterdir()}
    pages.check(TUTORIAL, found, refresh)


@pytest.mark.parametrize("path", first_of(*PAGES), ids=lambda path: path.stem)
def test_outputs(path, tmp_path, refresh):
    (tmp_path / "examples").symlink_to(pages.ROOT / "examples")
    page = path.read_text()
    shown = [step for step in pages.steps(page) if step.shown]
    assert shown
    found = [
        (step.shown, pages.excerpt(page[slice(*step.shown)], pages.run(step.commands, tmp_path))) for step in shown
    ]
    pages.check(path, found, refresh)


PAGE = """Run it:

```sh
echo "A table of 12 things"; echo "a  1.5"; echo "b   22"; echo; echo "end 7"  # says how many
```

It says

```text
A table of 9 things
a  1.0

end 7
```

and

```sh
true
```
"""


def test_an_old_figure_is_seen_and_mended(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    _, silent = pages.steps(PAGE)
    assert silent == pages.Step(("true",), None)

    def found():
        page = path.read_text()
        step = pages.steps(page)[0]
        return [(step.shown, pages.excerpt(page[slice(*step.shown)], pages.run(step.commands, tmp_path)))]

    with pytest.raises(AssertionError, match="does not show what its commands print; run pytest --refresh-docs"):
        pages.check(path, found(), refresh=False)
    pages.check(path, found(), refresh=True)
    assert path.read_text() == PAGE.replace("of 9 things\na  1.0", "of 12 things\na  1.5")
    pages.check(path, found(), refresh=False)


LINE = "        64              4.61 | 1.3896970e-05 ± 1.6366e-08       10\n"


@pytest.mark.parametrize(
    ("old", "new", "agree"),
    [
        ("1.3896970e-05", "1.3896971e-05", True),
        ("1.3896970e-05", "1.3910000e-05", True),
        ("1.3896970e-05", "1.3940000e-05", False),
        ("1.6366e-08", "9.6366e-08", True),
        ("1.6366e-08", "2.6366e-07", False),
        ("4.61", "4.62", True),
        ("4.61", "4.63", False),
        ("64", "65", False),
        ("10\n", "11\n", False),
        ("±", "+", False),
    ],
)
def test_a_ping_pong_may_change_by_what_other_versions_do_and_no_more(old, new, agree, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(LINE)
    found = [((0, len(LINE)), LINE.replace(old, new))]
    if agree:
        pages.check(path, found, refresh=False)
        return
    with pytest.raises(AssertionError, match="does not show what its commands print"):
        pages.check(path, found, refresh=False)


def test_lines_that_are_missing_are_told(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("one\ntwo\nthree\n")
    with pytest.raises(AssertionError, match=r"- two\n\+ three"):
        pages.check(path, [((0, 14), "one\nthree\n")], refresh=False)


def test_the_end_of_a_part_is_shown_after_a_gap():
    printed = "title 1\n" + "".join(f"row {number}\n" for number in range(9)) + "\nother\n"
    assert pages.excerpt("title 7\nrow 5\n...\nrow 6\nrow 7\n", printed) == "title 1\nrow 0\n...\nrow 7\nrow 8\n"


def test_a_sentence_with_an_old_figure_is_seen(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("It takes 1.234 us.\n")
    pages.check(path, [((0, 0), "it took 1.234\n")], refresh=True)
    path.write_text("It takes 1.234 us.\n")
    with pytest.raises(AssertionError, match=r"page.md names 1.234, which no command on it prints"):
        pages.check(path, [((0, 0), "it took 1.235\n")], refresh=True)


def test_a_part_that_is_not_printed_any_more_is_seen(tmp_path):
    with pytest.raises(AssertionError, match="no line like this is printed: 'A table of 9 things'"):
        pages.excerpt("A table of 9 things\n", "A list of 9 things\n")


def test_a_command_that_fails_is_seen(tmp_path):
    with pytest.raises(AssertionError, match="false: "):
        pages.run(["false"], tmp_path)
