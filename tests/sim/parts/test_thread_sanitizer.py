"""The mailboxes of parts under a thread sanitizer: parts are threads of one process."""

from importlib.resources import files
from pathlib import Path

import pytest
import sanitizer

from lanai_sim.parts import links

pytestmark = pytest.mark.slow

ROOM = 2048  # bytes of a message, so that a round is short
THREADS = Path(__file__).with_name("mailbox_threads.c")


def run(folder, change=lambda text: text):
    """Run the program with the sanitizer. `change` is made to the text of the mailboxes."""
    text = change(files(links.__package__).joinpath("mailboxes.c").read_text())
    source = folder / "threads.c"
    source.write_text(links.header(ROOM) + text + THREADS.read_text())
    return sanitizer.run(sanitizer.build(source))


def test_parts_do_not_race(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_would_be_seen(tmp_path):
    """A part's message is not published to those that read it."""
    release, relaxed = (
        f"atomic_store_explicit(&own->sent, all->sent, memory_order_{x})" for x in ("release", "relaxed")
    )

    def unordered(text):
        assert release in text
        return text.replace(release, relaxed)

    assert "data race" in run(tmp_path, unordered).stderr
