"""The tables of a job's configuration that have a key, for a user who has written it into another one."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from lanai_host.config import HostConfig
from lanai_host.stacks import stacks

from ..machine.blocks import blocks
from ..machine.presets import PRESETS as NIC_PRESETS

FLAGS = {"nic": "--nic-option", "host": "--host-option"}  # of tables; those of messaging systems have one flag
OPTION = "--option"


def owners(key: str) -> str:
    """Return a sentence that names the tables that have this key, to be put before a list; nothing if there is
    none."""
    tables = dict(_tables()).items()
    found = [_named(where, key) for where, table in tables if key in (field.name for field in fields(table))]
    return f"it is a key of {', '.join(found)}; here " if found else ""


def _named(where: str, key: str) -> str:
    """Return a table's name, and the flag that sets the key."""
    part, _, block = where.partition(".")
    member = f"{block}.{key}" if block else key
    return f"[{where}] ({FLAGS.get(part, OPTION)} {member}=...)"


def _tables() -> Iterator[tuple[str, Any]]:
    """Return all tables of parameters, by their names in files."""
    yield "nic", next(iter(NIC_PRESETS.values()))()
    for block in blocks():
        yield f"nic.{block.name}", block
    yield "host", HostConfig()
    yield "host.kernel", HostConfig().kernel
    for stack in stacks():
        yield stack.options_table, stack.default_options()
