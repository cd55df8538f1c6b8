"""The transport's shared memory under a thread sanitizer: ranks are threads of one process."""

import os
import subprocess

import pytest

from lanai_host.compilers import Language, find

from . import transport_program

pytestmark = pytest.mark.slow


def build(folder, change=lambda text: text):
    """The program, with the sanitizer. `change` is made to the sources."""
    file = transport_program.written(folder, "transport_threads.c", change)
    binary = folder / "threads"
    command = [*find(Language.C).command, "-O1", "-g", "-fsanitize=thread", "-pthread", str(file)]
    done = subprocess.run([*command, "-o", str(binary)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this compiler has no thread sanitizer: {done.stderr[-300:]}")
    return binary


def run(binary, folder):
    """Ends at the first race: what a rank does after one is undefined, and may not end."""
    environment = os.environ | {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
    return subprocess.run(
        [str(binary), str(folder / "memory")], capture_output=True, text=True, check=False, timeout=600, env=environment
    )


def test_ranks_do_not_race(tmp_path):
    binary = build(tmp_path)
    runs = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs.append(run(binary, folder))
    assert [(one.returncode, one.stderr) for one in runs] == [(0, "")] * 3
    assert len({one.stdout for one in runs}) == 1


def test_a_race_would_be_seen(tmp_path):
    """Without the lock around `hub_take`."""

    def unlocked(text):
        start = text.index("datagram *hub_take")
        end = text.index("\n}", start)
        body = text[start:end].replace("take_lock(o);", "").replace("drop_lock(o);", "")
        return text[:start] + body + text[end:]

    assert "data race" in run(build(tmp_path, unlocked), tmp_path).stderr
