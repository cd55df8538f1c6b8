"""The engine's threads under a thread sanitizer. Stand-ins take the place of the Verilated models,
which share nothing."""

import subprocess
from pathlib import Path

import pytest
import sanitizer

from lanai_hdl.config import lanai41
from lanai_hdl.switch_config import SwitchConfig
from lanai_host.compilers import Language, find
from lanai_sim.engines.designs import NIC_TOP, SWITCH_TOP
from lanai_sim.engines.objects import RUNTIME, defines
from lanai_sim.engines.units import nic_header, switch_header, unit
from lanai_sim.engines.verilated import verilator_root

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SWITCH = SwitchConfig(ports=2, nic=lanai41())


def compiled(arguments):
    command = [*find(Language.CXX).command, "-std=gnu++17", "-w", "-g", "-fsanitize=thread", "-pthread", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """Verilator's own objects, and the flags of what includes its headers."""
    folder, root = tmp_path_factory.mktemp("runtime"), verilator_root() / "include"
    flags = [*defines(False), f"-I{root}", f"-I{root}/vltstd"]
    objects = []
    for name in RUNTIME:
        objects.append(str(folder / f"{name}.o"))
        done = compiled([*flags, "-O0", "-c", str(root / f"{name}.cpp"), "-o", objects[-1]])
        if done.returncode:
            pytest.skip(f"this compiler has no thread sanitizer: {done.stderr[-300:]}")
    return objects, flags


def run(folder, runtime, change=lambda text: text):
    """Run the program with the sanitizer. `change` is made to the text that steps the units. The run ends
    at the first race: the engine's behaviour after one is undefined, and it may not end."""
    objects, flags = runtime
    engine = unit("engine.cc")
    others = [unit("nic.cc", NIC_TOP, nic_header(SWITCH.nic)), unit("switch.cc", SWITCH_TOP, switch_header(SWITCH))]
    texts = dict(engine.headers)
    for other in others:
        texts |= {**other.headers, f"{other.top}.cc": other.text}
    texts["stand_ins.h"] = (HERE / "stand_ins.h").read_text()
    for top in NIC_TOP, SWITCH_TOP:
        texts |= {f"V{top}.h": '#include "stand_ins.h"\n', f"V{top}___024root.h": ""}
    texts["stepping.h"] = change(texts["stepping.h"])
    texts["all.cc"] = engine.text + (HERE / "engine_threads.cc").read_text()
    for name, text in texts.items():
        (folder / name).write_text(text)
    binary = folder / "threads"
    sources = [str(folder / name) for name in texts if name.endswith(".cc")]
    done = compiled([*flags, f"-I{folder}", "-O1", *sources, *objects, "-latomic", "-o", str(binary)])
    assert done.returncode == 0, done.stderr
    return sanitizer.run(binary)


def test_threads_do_not_race(tmp_path, runtime):
    done = run(tmp_path, runtime)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_would_be_seen(tmp_path, runtime):
    """A worker's writes are not published to the thread that waits for it."""
    release, relaxed = (f"left_.fetch_sub(1, std::memory_order_{order})" for order in ("release", "relaxed"))

    def unordered(text):
        assert release in text
        return text.replace(release, relaxed)

    assert "data race" in run(tmp_path, runtime, unordered).stderr
