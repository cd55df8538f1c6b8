"""A wheel that brings along what a machine would build first: libmpi, the engine, models of NICs and switches,
firmware, booted NICs. `docs/running.md` says how it is made."""

import os
import platform
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = "openlanai_built"  # `lanai_firmware.cache.SHIPPED`


class Built(BuildHookInterface):
    """Puts what `lanai_sim.wheel` makes into the wheel, which is then for one Python, C library and processor."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self.work = tempfile.TemporaryDirectory(prefix="lanai-wheel-")
        folder = Path(self.work.name, BUILT)
        folder.mkdir()
        fill(Path(self.root), folder)
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        libc = platform.libc_ver()[1].replace(".", "_")
        build_data["tag"] = f"{python}-{python}-manylinux_{libc}_{platform.machine()}"
        build_data["pure_python"] = False
        build_data["force_include"][str(folder)] = BUILT

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.work.cleanup()


def fill(root: Path, folder: Path, *runs: str) -> None:
    """Fill the folder. The packages of the source tree lie beside a note of their version, as in an installation."""
    site = folder.with_name("site")
    project = tomllib.loads((root / "pyproject.toml").read_text())
    version = project["project"]["version"]
    note = site / f"openlanai-{version}.dist-info"
    note.mkdir(parents=True)
    (note / "METADATA").write_text(f"Metadata-Version: 2.1\nName: openlanai\nVersion: {version}\n")
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        (site / Path(package).name).symlink_to(root / package)
    places = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-P", "-m", "lanai_sim.wheel", str(folder), *runs]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": places}, check=True)
