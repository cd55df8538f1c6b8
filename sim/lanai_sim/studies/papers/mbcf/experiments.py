"""The paper's experiments, each a function from `quick` to figures.

"theirs" is a host and a network like the paper's: 85 MHz SuperSPARC workstations on a 100BASE-TX switch.
"ours" is the project's testbed: Pentium II hosts on Myrinet.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_hdl.config import NicConfig, lanai41
from lanai_host.config import HostConfig, supersparc_85
from lanai_host.stacks.mbcf.options import MbcfOptions

from ....commands.run import libmpi_environment
from ....job.config import RunConfig
from ....job.launcher import run
from ....job.nic_world import NicWorld
from ..measuring import Experiment, Figures
from . import programs

ROUND_TRIP_SIZES = (0, 4, 16, 64, 256, 1024, 4096)
BANDWIDTH_SIZES = (4, 16, 64, 256, 1024, 4096, 16384, 65536)
LINK_KBYTES = 12_500  # 100 Mbit/s


@dataclass(frozen=True)
class Setting:
    """Hosts and NICs of a run."""

    name: str
    host: HostConfig
    nic: NicConfig


def theirs() -> Setting:
    return Setting("theirs", supersparc_85(), lanai41().but(link_kbytes=LINK_KBYTES))


def ours() -> Setting:
    return Setting("ours", HostConfig(), lanai41())


def measure(setting: Setting, requests: int, program: str, arguments: Sequence[int]) -> dict[str, float]:
    """What a program with two ranks measured, by size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "found.json")
        command = (sys.executable, "-c", program, str(file), *map(str, arguments))
        config = RunConfig(
            command,
            2,
            "mbcf",
            host=setting.host,
            nic=setting.nic,
            options=MbcfOptions(requests=requests),
            environment=libmpi_environment(),
        )
        result = run(config, NicWorld)
        if result.code:
            raise RuntimeError(result.report)
        found: dict[str, float] = json.loads(file.read_text())
        return found


def both(setting: Setting, what: str, program: str, arguments: Sequence[int]) -> Figures:
    """With requests and without."""
    figures = {}
    for name, requests in (("sr", 1), ("nsr", 0)):
        for size, value in measure(setting, requests, program, arguments).items():
            figures[f"{setting.name}.{what}.{name}.{size}"] = value
    return figures


def round_trip(setting: Setting, quick: bool) -> Figures:
    return both(setting, "rtt", programs.ROUND_TRIP, (3 if quick else 8, *ROUND_TRIP_SIZES))


def bandwidth(setting: Setting, quick: bool) -> Figures:
    sizes = BANDWIDTH_SIZES[:5] if quick else BANDWIDTH_SIZES
    return both(setting, "bandwidth", programs.BANDWIDTH, (32_768 if quick else 262_144, *sizes))


EXPERIMENTS = [
    Experiment("round_trip", "table 4.1: round trip, hosts and network like theirs", lambda q: round_trip(theirs(), q)),
    Experiment("bandwidth", "table 4.2: peak bandwidth, the same", lambda q: bandwidth(theirs(), q)),
    Experiment("our_round_trip", "table 4.1 on the project's testbed", lambda q: round_trip(ours(), q)),
    Experiment("our_bandwidth", "table 4.2 on the project's testbed", lambda q: bandwidth(ours(), q)),
]
