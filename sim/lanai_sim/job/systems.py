"""Systems by name: a device, the NICs, the hosts and the fabric that it runs on, and its options, in one word.

A name without a year is a messaging system on the common testbed, which is what `Machine()` has. A
name with a year is the same system on the machine of its paper, as `lanai paper` measures it.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanai_host.errors import UserError, unknown

from ..tables import Document


@dataclass(frozen=True)
class System:
    """One system.

    Attributes:
        device: the messaging system, as `--device` has it.
        help: what it stands for, in a line.
        parts: the rest, as a configuration file says it; empty: the common testbed.
    """

    device: str
    help: str
    parts: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> Document:
        """Return it as keys of a configuration file."""
        return {"device": self.device, **copy.deepcopy(dict(self.parts))}


SYSTEMS: Mapping[str, System] = {
    "ideal": System("ideal", "no NIC: a message costs a latency and its time on the link; the upper bound"),
    "mpi-np": System(
        "mpi-np", "MPI-NP on the common testbed: the NIC's processor matches, its firmware moves the bytes"
    ),
    "bip": System(
        "bip", "an MPI on a thin firmware, as BIP's, on the common testbed: the NIC moves packets, hosts match"
    ),
    "t3d": System("t3d", "MPICH's T3D device on the common testbed: puts by firmware, hosts match"),
    "ccu": System("ccu", "the CCU MPI on the common testbed: a daemon on each NIC's processor, over a switch"),
    "mbcf": System("mbcf", "MPI/MBCF on the common testbed: the remote-memory adapter stores, hosts match"),
    "sci": System("sci", "SCI-MPICH on the common testbed: the remote-memory adapter stores, hosts match"),
    "lanai2": System("lanai2", "the NIC one would build today on the common testbed: the adapter matches and stores"),
    "mpi-np-1999": System(
        "mpi-np",
        "the thesis's MPI-NP (1999): its policies, and hosts that pin and unpin pages for each message",
        {
            "nic": {"preset": "lanai41"},
            "host": {"preset": "thesis"},
            "firmware": {"preset": "paper", "mark_entries": 1},
        },
    ),
    "bip-1999": System(
        "bip",
        "the thesis's comparator BIP (1999) on its hosts, which pin and unpin pages for each message",
        {"nic": {"preset": "lanai41"}, "host": {"preset": "thesis"}},
    ),
    "t3d-1996": System(
        "t3d",
        "a Cray T3D (1996): Alpha 21064 at 150 MHz, puts by its shell, links of 300 MB/s; a switch, not its torus",
        {"nic": {"preset": "t3d_shell"}, "host": {"preset": "alpha21064"}, "t3d": {"preset": "t3d"}},
    ),
    "ccu-1996": System(
        "ccu",
        "workstations of the CCU MPI (1996): SunOS 4.1.3 on an Ethernet of 10 Mbit/s",
        {
            "nic": {"preset": "ethernet10"},
            "host": {"preset": "sparc_sunos"},
            "fabric": "ethernet",
            "ccu": {"preset": "ethernet"},
        },
    ),
    "mbcf-1999": System(
        "mbcf",
        "workstations of MPI/MBCF (1999): SuperSPARC at 85 MHz, 100BASE-TX with a hub; the kernel does the NIC's work",
        {
            "nic": {"preset": "mbcf_100baset"},
            "host": {"preset": "supersparc_85"},
            "fabric": "hub",
            "mbcf": {"inline": 16, "record": 1408, "ask_from": 0, "first": 0, "alltoall": 0},
        },
    ),
    "sci-2002": System(
        "sci",
        "a cluster of SCI-MPICH (2002): Pentium III at 800 MHz, Dolphin D330 adapters; a switch instead of rings",
        {"nic": {"preset": "sci_d330"}, "host": {"preset": "pentium3_800"}, "sci": {"chunk": 32 * 1024}},
    ),
}


def system(name: str) -> System:
    """Return the system of that name. Raises UserError with those that exist."""
    if name not in SYSTEMS:
        raise unknown("system", name, SYSTEMS)
    return SYSTEMS[name]


def expanded(document: Mapping[str, Any]) -> tuple[Document, Document]:
    """Return what a document's `system` stands for, and the document without that key: the second is to be
    laid over the first. Raises UserError if the document names another device than its system has."""
    rest = dict(document)
    name = rest.pop("system", None)
    if name is None:
        return {}, rest
    if not isinstance(name, str):
        raise UserError(f"system = {name!r} is not a name; it may be one of {', '.join(SYSTEMS)}")
    chosen = system(name)
    if rest.get("device", chosen.device) != chosen.device:
        near = ", ".join(other for other, one in SYSTEMS.items() if one.device == rest["device"])
        raise UserError(
            f"the system {name!r} has the device {chosen.device!r}, not {rest['device']!r}; leave the device out"
            + (f", or choose a system that has it: {near}" if near else "")
        )
    return chosen.document(), rest
