"""A machine as a table of plain values, as configuration files and `Machine.to_json` have it, and back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import NicConfig
from lanai_host.errors import UserError

from ..tables import Document, from_preset, from_table, known, table, texts, to_table
from .blocks import block, names
from .fabrics.cables import Ends, ends_text, parse_cables
from .presets import PRESETS

Equip = Callable[[NicConfig], NicConfig]  # puts into a NIC the blocks that a messaging system needs


def nic_from(values: Any, equip: Equip | None = None) -> NicConfig:
    """Return the NIC of a table: a preset with parameters changed, the optional blocks that are named in a list, and
    the parameters of blocks, which are tables by the blocks' names.

    Args:
        equip: adds the blocks that have a table and are not in the list. None: such a table is of another
            messaging system, and does not count.
    """
    tables = {name: value for name, value in table("nic", values).items() if isinstance(value, dict)}
    rest = {name: value for name, value in values.items() if name not in (*tables, "blocks")}
    nic: NicConfig = from_preset("nic", rest, PRESETS)
    added = texts("[nic]: blocks", values.get("blocks", []), "['remote']")
    nic = _with_parameters(nic, [*nic.blocks, *map(block, added)], tables)
    if equip is None:
        return nic
    if not {*tables} <= {one.name for one in nic.blocks}:
        nic = equip(nic)
    known("[nic] of these NICs", tables, [one.name for one in nic.blocks])
    return _with_parameters(nic, nic.blocks, tables)


def nic_table(nic: NicConfig) -> Document:
    """Return the table from which `nic_from` makes this NIC."""
    found = to_table(nic)
    del found["blocks"]
    if nic.blocks:
        found["blocks"] = [_name_of(one) for one in nic.blocks]
    return found | {one.name: to_table(one) for one in nic.blocks}


def fabric_from(value: Any) -> str | Ends:
    """Return the fabric that a document names or describes by its cables."""
    if isinstance(value, str):
        return value
    known("[fabric]", table("fabric", value), ("cables",))
    return parse_cables("[fabric]", value.get("cables", []))


def fabric_table(fabric: str | Ends) -> Any:
    """Return the text or table from which `fabric_from` makes this fabric."""
    return fabric if isinstance(fabric, str) else {"cables": ends_text(fabric)}


def _with_parameters(nic: NicConfig, blocks: Sequence[BlockConfig], tables: Mapping[str, Any]) -> NicConfig:
    return nic.but(blocks=tuple(from_table(f"[nic.{one.name}]", one, tables.get(one.name, {})) for one in blocks))


def check_blocks(nic: NicConfig) -> None:
    """Raise UserError for a block that `nic_from` cannot make, as its name is not known."""
    for one in nic.blocks:
        name = _name_of(one)
        if name not in names() or type(block(name)) is not type(one):
            raise UserError(
                f"the block {name!r} of this NIC cannot be named in a document; put its folder into `blocks/` of a "
                "directory on LANAI_PATH"
            )


def _name_of(one: BlockConfig) -> str:
    return one.name.replace("_", "-")
