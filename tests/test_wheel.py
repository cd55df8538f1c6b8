"""A wheel that brings along what a machine would build first: it equals what is built, and a run with it builds
nothing."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from lanai_firmware import cache

ROOT = Path(__file__).parents[1]
HELLO = ("run", "-q", "-n", "2", "--device", "mpi-np", sys.executable, "-c", "from mpi4py import MPI")


@pytest.fixture
def hook(monkeypatch):
    """The build hook, without the package that calls it."""
    interface = "hatchling.builders.hooks.plugin.interface"
    monkeypatch.setitem(sys.modules, interface, ModuleType(interface))
    sys.modules[interface].BuildHookInterface = object
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "sim" / "hatch_build.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_hook_puts_the_entries_where_they_are_looked_for(hook, monkeypatch):
    monkeypatch.setattr(hook, "fill", lambda root, folder: (folder / "gates").mkdir())
    made, data = hook.Built(), {"force_include": {}}
    made.root = str(ROOT)
    made.initialize("editable", data)
    assert data == {"force_include": {}}
    made.initialize("standard", data)
    [(folder, place)] = data["force_include"].items()
    assert (place, data["pure_python"]) == (cache.SHIPPED.name, False)
    assert (Path(folder) / "gates").is_dir()
    assert data["tag"].startswith(f"cp{sys.version_info[0]}{sys.version_info[1]}-cp")
    made.finalize("standard", data, "")
    assert not Path(folder).exists()


def lanai(site, home, path, *words):
    """Run a command of the packages in `site`, with `path` for programs and an empty home."""
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "LANAI_CACHE")},
        "PYTHONPATH": str(site),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PATH": path,
    }
    command = [sys.executable, "-P", "-m", "lanai_sim", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def contents(folder):
    """The files of each entry in a folder, by the kind of entry. A booted NIC states its key, which names the tools."""
    found = {}
    for entry in folder.glob("[a-z]*/??/*/"):
        files = {path.relative_to(entry): path.read_bytes() for path in entry.iterdir() if path.name != cache.DIGESTS}
        kind = entry.relative_to(folder).parts[0]
        if kind == "boot":
            files = {path: re.sub(rb'"key": "[0-9a-f]+"', b"", content, count=1) for path, content in files.items()}
        found.setdefault(kind, []).append(files)
    return found


@pytest.mark.ci
def test_a_wheel_carries_what_is_built_and_a_run_with_it_builds_nothing(hook, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    site, built = tmp_path / "site", tmp_path / cache.SHIPPED.name
    built.mkdir()
    hook.fill(ROOT, built, "-n 2 mpi-np lanai2")
    lanai(site, tmp_path / "one", os.environ["PATH"], "warm", "-n", "2", "mpi-np", "lanai2")
    made, brought = contents(tmp_path / "one/cache/openlanai"), contents(built)
    # A copy, parts of firmware, and links to MPICH's Fortran library where that is installed.
    assert made.keys() - brought.keys() <= {"abi", "object", "bindings"}
    for kind, entries in brought.items():
        assert made[kind]
        assert [[*files] for files in made[kind] if files not in entries] == [], kind
    built.rename(site / built.name)
    done = lanai(site, tmp_path / "two", str(Path(sys.executable).parent), *HELLO)
    assert done.stderr == ""
    assert contents(tmp_path / "two/cache/openlanai").keys() - {"bindings"} == {"abi"}
