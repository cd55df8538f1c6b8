"""The engine's threads under a thread sanitizer. Stand-ins take the place of the models, which share nothing."""

import subprocess
from pathlib import Path

import pytest
import sanitizer

from lanai_host.compilers import Language, find
from lanai_sim.engines.native_library import texts

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def run(folder, change=lambda text: text):
    """Run the program with the sanitizer. `change` is made to the text that steps the units. The run ends
    at the first race: the engine's behaviour after one is undefined, and it may not end."""
    found = {**texts(), "stand_ins.h": (HERE / "stand_ins.h").read_text()}
    found["stepping.h"] = change(found["stepping.h"])
    found["all.cc"] = found["engine.cc"] + (HERE / "engine_threads.cc").read_text()
    for name, text in found.items():
        (folder / name).write_text(text)
    binary = folder / "threads"
    command = [*find(Language.CXX).command, "-std=gnu++17", "-w", "-g", "-fsanitize=thread", "-pthread", "-O1"]
    command += [f"-I{folder}", str(folder / "all.cc"), "-o", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "sanitize" in done.stderr or "tsan" in done.stderr:
        pytest.skip(f"this compiler has no thread sanitizer: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return sanitizer.run(binary)


def test_threads_do_not_race(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_would_be_seen(tmp_path):
    """A worker's writes are not published to the thread that waits for it."""
    release, relaxed = (f"left_.add(~0u, __ATOMIC_{order})" for order in ("RELEASE", "RELAXED"))

    def unordered(text):
        assert release in text
        return text.replace(release, relaxed)

    assert "data race" in run(tmp_path, unordered).stderr
