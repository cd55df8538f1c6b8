"""The mailboxes of parts under a thread sanitizer: parts are threads of one process."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from lanai_host.compilers import Language, find
from lanai_sim.parts import native

pytestmark = pytest.mark.slow

ROOM = 2048  # bytes of a message, so that a round is short
THREADS = Path(__file__).with_name("mailbox_threads.c")


def run(folder, change=lambda text: text):
    """Run the program with the sanitizer. `change` is made to the text of the mailboxes. The run ends at the first
    race."""
    text = change(files(native.__package__).joinpath("mailboxes.c").read_text())
    file, binary = folder / "threads.c", folder / "threads"
    file.write_text(native.header(ROOM) + text + THREADS.read_text())
    command = [*find(Language.C).command, "-O1", "-g", "-fsanitize=thread", "-pthread", str(file), "-o", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this compiler has no thread sanitizer: {done.stderr[-300:]}")
    environment = os.environ | {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
    return subprocess.run([str(binary)], capture_output=True, text=True, check=False, timeout=600, env=environment)


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
