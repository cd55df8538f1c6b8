"""Refuses flags that cannot act on the chosen device, and so would change nothing."""

import argparse
from collections.abc import Iterable, Iterator

from lanai_host.config import CHOICES, DRIVER_ONLY
from lanai_host.errors import UserError
from lanai_host.stacks import names, stack
from lanai_host.stacks.base import Stack

from .data import JobData
from .restart.plan import is_kill

# Flags that change what NICs do, or what joins them. Flags that say how NICs are evaluated change no
# result, and are accepted where there are none: one command line serves all devices.
NIC_FLAGS = (
    "nic", "nic_option", "block", "fabric", "fault", "survive_death", "wave", "wave_nodes", "wave_from", "wave_to",
)  # fmt: skip


def check_flags(args: argparse.Namespace, config: JobData) -> None:
    """Raise UserError for flags that cannot act. A file's tables may describe what another device
    would use."""
    chosen = config.stack
    if not chosen.nics:
        flags = {**vars(args), "fault": [text for text in args.fault if not is_kill(text)]}
        given = [f"--{flag.replace('_', '-')}" for flag in NIC_FLAGS if flags[flag] not in (None, [])]
        given += [f"--host-option {word}" for word in args.host_option if _name(word) in DRIVER_ONLY]
        _refuse(given, config, "which has no NICs", (name for name in names() if stack(name).nics))
    if args.firmware:
        given = [f"--firmware {word}" for word in args.firmware]
        able = [name for name in names() if stack(name).options_table == "firmware"]
        if config.device not in able:
            _refuse(given, config, "whose own options are set by --option", able)
    for word in args.host_option:
        if _name(word) in CHOICES - chosen.host_choices:
            _refuse([f"--host-option {word}"], config, "whose driver has no such choice", _that_obey(_name(word)))


def _name(word: str) -> str:
    """Return the field that a word changes, or a member of."""
    return word.partition("=")[0].partition(".")[0]


def _that_obey(choice: str) -> Iterator[str]:
    stacks: Iterator[Stack] = map(stack, names())
    return (one.name for one in stacks if choice in one.host_choices)


def _refuse(given: list[str], config: JobData, why: str, able: Iterable[str]) -> None:
    if given:
        raise UserError(
            f"{', '.join(given)} cannot act on the device {config.device!r}, {why}; leave it out, or choose a device "
            f"on which it does: {', '.join(able)}"
        )
