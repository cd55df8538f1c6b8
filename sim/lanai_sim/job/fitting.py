"""Refuses flags that cannot act on the chosen device, and so would change nothing."""

import argparse
from collections.abc import Callable, Mapping, Sequence

from lanai_host.config import CHOICES, DRIVER_ONLY
from lanai_host.errors import UserError
from lanai_host.stacks import stacks
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
    flags = {**vars(args), "fault": [text for text in args.fault if not is_kill(text)]}
    nics = [f"--{flag.replace('_', '-')}" for flag in NIC_FLAGS if flags[flag] not in (None, [])]
    check_given(nics, {f"--host-option {word}": word.partition("=")[0] for word in args.host_option}, config)
    if config.stack.options_table != "firmware":
        given = [f"--firmware {word}" for word in args.firmware]
        _refuse(given, config, "whose own options are set by --option", lambda one: one.options_table == "firmware")


def check_given(nics: Sequence[str], host: Mapping[str, str], config: JobData) -> None:
    """Raise UserError for settings that cannot act.

    Args:
        nics: settings of NICs or of what joins them, as the user wrote them.
        host: those of hosts, each with its parameter's name.
        config: the job.
    """
    fields = {given: name.partition(".")[0] for given, name in host.items()}
    if not config.stack.nics:
        of_nics = [*nics, *(given for given, field in fields.items() if field in DRIVER_ONLY)]
        _refuse(of_nics, config, "which has no NICs", lambda one: one.nics)
    for given, field in fields.items():
        if field in CHOICES - config.stack.host_choices:
            _refuse([given], config, "whose driver has no such choice", _obeys(field))


def _obeys(choice: str) -> Callable[[Stack], bool]:
    return lambda one: choice in one.host_choices


def _refuse(given: Sequence[str], config: JobData, why: str, can: Callable[[Stack], bool]) -> None:
    if given:
        able = (one.name for one in stacks() if can(one))
        raise UserError(
            f"{', '.join(given)} cannot act on the device {config.device!r}, {why}; leave it out, or choose a device "
            f"on which it does: {', '.join(able)}"
        )
