"""All parameters of a configuration by name."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.stacks import names, stacks

from ..job.systems import SYSTEMS
from ..machine.blocks import blocks
from ..machine.presets import PRESETS as NIC_PRESETS
from .declared import Parameter, members

RANKS = "ranks"


@cache
def parameters() -> Mapping[str, Parameter]:
    """Return every parameter that a run may be given, by name: whole parts first, then their members."""
    found = [*_parts(), *_tables()]
    return {one.name: one for one in found}


def _parts() -> list[Parameter]:
    """The parts of a job that are chosen by a word, and its numbers of ranks."""
    words: dict[str, tuple[Any, str, tuple[str, ...]]] = {
        "system": ("", "device, NIC, host, fabric and options in one word", tuple(SYSTEMS)),
        "device": ("ideal", "messaging system below MPI", tuple(names())),
        "nic": (next(iter(NIC_PRESETS)), "what each NIC is built as", tuple(NIC_PRESETS)),
        "host": (next(iter(HOST_PRESETS)), "what the host's own work costs", tuple(HOST_PRESETS)),
        "fabric": ("switch", "what joins the NICs: a name, with sizes where it has some", ()),
    }
    for table, (device, presets) in option_tables().items():
        words[table] = (presets[0], f"named options of {device}", presets)
    counts = {RANKS: "processes to start", "ranks_per_node": "ranks that share a NIC"}
    return [
        *(Parameter(name, "", 1, meaning, 1, 1024) for name, meaning in counts.items()),
        *(
            Parameter(name, "", default, meaning, choices=choices)
            for name, (default, meaning, choices) in words.items()
        ),
    ]


def _tables() -> list[Parameter]:
    """The members of all tables."""
    nic, host = next(iter(NIC_PRESETS.values()))(), next(iter(HOST_PRESETS.values()))()
    found = members("nic", nic)
    for block in blocks():
        found += members(f"nic.{block.name}", block)
    found += [*members("host", host), *members("host.kernel", host.kernel)]
    for stack in stacks():
        found += members(stack.options_table, stack.default_options())
    return found


@cache
def option_tables() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the device and the presets of each table of a messaging system's options."""
    return {stack.options_table: (stack.name, tuple(stack.presets)) for stack in stacks()}
