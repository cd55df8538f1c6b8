"""The transport's shared memory under a thread sanitizer: ranks are threads of one process."""

import pytest
import sanitizer

from . import transport_program

pytestmark = pytest.mark.slow


def build(folder, change=lambda text: text):
    """The program, with the sanitizer. `change` is made to the sources."""
    return sanitizer.build(transport_program.written(folder, "transport_threads.c", change))


def run(binary, folder):
    return sanitizer.run(binary, folder / "memory")


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
