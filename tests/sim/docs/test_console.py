"""The `console` blocks of the pages: their commands are understood, and print what the pages show."""

import re
import shlex
import sys

import pytest

from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_sim.cli import build_parser
from lanai_sim.machine.presets import PRESETS as NIC_PRESETS

from . import pages

EVERY = [pages.ROOT / "README.md", *sorted((pages.ROOT / "docs").rglob("*.md"))]
RUN = [pages.ROOT / "docs" / "reference" / name for name in ("restart.md", "ccu.md")]
PID = re.compile(r"pid \d+")


def shown(page):
    """(command, the lines below it) of a page's console blocks."""
    for block in pages.FENCE.finditer(page.read_text()):
        if block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def test_each_command_is_understood():
    commands = [command for page in EVERY for command, _ in shown(page) if command.startswith("lanai run")]
    assert len(commands) >= 6
    for command in commands:
        words = shlex.split(re.sub(r'"\$\(.*?\)/', '"', command))[1:]
        assert build_parser(words[0]).parse(words).program, command


@pytest.mark.ci
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_each_command_prints_what_is_shown(page, tmp_path):
    (tmp_path / "examples").symlink_to(pages.ROOT / "examples")
    for command, output in shown(page):
        assert command.startswith("lanai run -q "), "reports at the end differ from run to run"
        module = f"{shlex.quote(sys.executable)} -m lanai_sim"
        printed = pages.run([f"{module}{command.removeprefix('lanai')} || true"], tmp_path)
        told = "\n".join(line for line in printed.splitlines() if not line.startswith(("lanai: buil", "lanai: boot")))
        assert PID.sub("pid", told) == PID.sub("pid", output.rstrip("\n"))


def test_running_md_names_every_preset_and_option():
    page = (pages.ROOT / "docs" / "running.md").read_text()
    parser = build_parser("run").commands.choices["run"]
    options = [action.option_strings[-1] for action in parser._actions if action.option_strings]
    names = [*options, *(f"`{name}`" for name in (*HOST_PRESETS, *NIC_PRESETS))]
    assert [name for name in names if name not in page] == []


@pytest.mark.parametrize("paper", ["mpi-np", "t3d", "sci", "ccu", "mbcf"])
def test_the_parts_of_a_score_add_up(paper):
    text = (pages.ROOT / "docs" / "papers" / f"{paper}.md").read_text()
    if "No number is predicted" in text:
        return
    found = re.search(r"(\d+) predicted numbers: (\d+) within .*?, (\d+) more .*?, (\d+) off", text) or re.search(
        r"claims (\d+) are answered: (\d+) by a number, (\d+) by something .*?, (\d+) by tests alone", text
    )  # pages that have no record yet
    whole, *parts = map(int, found.groups())
    assert sum(parts) == whole
