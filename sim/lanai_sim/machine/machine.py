"""The machine that a job runs on: NICs, their network, their hosts, and faults."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import NicConfig
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.config import HostConfig
from lanai_host.errors import UserError

from ..tables import (
    Document,
    assignments,
    brief,
    chosen,
    from_preset,
    from_table,
    html_table,
    known,
    read_json,
    table,
    texts,
    to_table,
)
from .blocks import block, names
from .fabrics.grids import SUFFIX, Ends, FileEnds, ends_text, parse_cables, read
from .faults import Fault, parse
from .presets import PRESETS
from .presets import PRESETS as NIC_PRESETS

# A machine as a table of plain values, as configuration files and `Machine.to_json` have it, and back.

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


def block_from(option: str, text: str) -> BlockConfig:
    """Return the block that a flag gives as NAME[:PARAMETER=VALUE,...], its other parameters by default."""
    name, _, parameters = text.partition(":")
    values = assignments(option, [word for word in parameters.split(",") if word])
    return from_table(f"{option} {name}", block(name), values)


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


PART = TypeVar("PART")
Cables = Sequence[Sequence[str]]  # pairs of ends such as ("nic0", "switch0.3")


@dataclass(frozen=True, init=False, repr=False)
class Machine:
    """The machine of a job. All its nodes are alike. How many there are follows from the job's ranks.

    Each part may be given as a user writes it: a NIC or a host by the name of a preset or as a table
    with a preset and parameters, a fabric by its name, its file or its cables, a fault by its text.

    Attributes:
        nic: each NIC, of the messaging systems that have NICs.
        fabric: its name, or its cables.
        host: what the host's own work costs.
        faults: of the fabric. Faults of ranks are `Job.kills`.
    """

    nic: NicConfig
    fabric: str | Ends
    host: HostConfig
    faults: tuple[Fault, ...]

    def __init__(
        self,
        nic: NicConfig | str | Mapping[str, Any] = "lanai41",
        fabric: str | Ends | Cables = "switch",
        host: HostConfig | str | Mapping[str, Any] = "pentium2_266",
        faults: Sequence[Fault | str] = (),
    ) -> None:
        parts = {
            "nic": _part("nic", nic, NIC_PRESETS, nic_from),
            "fabric": _fabric(fabric),
            "host": _part("host", host, HOST_PRESETS, lambda values: from_preset("host", values, HOST_PRESETS)),
            "faults": tuple(one if isinstance(one, Fault) else parse(one) for one in faults),
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return brief(self)

    def in_words(self) -> dict[str, str]:
        """Return each part in a few words: a preset by its name."""
        found = {
            "nic": _name(self.nic, NIC_PRESETS),
            "fabric": str(self.fabric),
            "host": _name(self.host, HOST_PRESETS),
        }
        return found | ({"faults": "; ".join(map(str, self.faults))} if self.faults else {})

    def _repr_html_(self) -> str:
        return html_table("Machine", self.in_words())

    def but(self, **changes: Any) -> Self:
        """Return the same machine with some parts changed. A table without a preset is laid over the part."""
        known("Machine", changes, [field.name for field in fields(self)])
        for name in ("nic", "host"):
            if isinstance(given := changes.get(name), Mapping) and "preset" not in given:
                changes[name] = from_table(f"[{name}]", getattr(self, name), given)
        return replace(self, **changes)

    def document(self) -> Document:
        """Return the machine as a table of plain values: keys of a job's configuration file."""
        return {
            "nic": nic_table(self.nic),
            "fabric": fabric_table(self.fabric),
            "host": to_table(self.host),
            "faults": [str(fault) for fault in self.faults],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], equip: Equip | None = None) -> Self:
        """Return the machine that such a table describes; a part that it lacks is the default one. `equip`: see
        `nic_from`."""
        known("the machine", document, [field.name for field in fields(cls)])
        found: dict[str, Any] = {}
        if "nic" in document:
            found["nic"] = nic_from(document["nic"], equip)
        if "fabric" in document:
            found["fabric"] = fabric_from(document["fabric"])
        if "host" in document:
            found["host"] = from_preset("host", document["host"], HOST_PRESETS)
        if "faults" in document:
            found["faults"] = texts("faults", document["faults"], "['drop nic0 packet=3']")
        return cls(**found)

    def to_json(self) -> str:
        """Return the machine as JSON, which `from_json` reads, on another computer too."""
        check_blocks(self.nic)
        return json.dumps(self.document(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the machine that `to_json` wrote. Raises UserError for what it cannot be."""
        return cls.from_document(read_json("the machine", text), equip=lambda nic: nic)


def _name(part: PART, presets: Mapping[str, Callable[[], PART]]) -> str:
    return next((name for name, make in presets.items() if make() == part), str(part))


def _part(what: str, given: Any, presets: Mapping[str, Callable[[], PART]], from_values: Callable[[Any], PART]) -> PART:
    if isinstance(given, str):
        part: PART = chosen(what, given, presets)
        return part
    return from_values(dict(given)) if isinstance(given, Mapping) else given


def _fabric(given: str | Ends | Cables) -> str | Ends:
    """A file's cables instead of its name: the machine is to be the same on another computer."""
    if isinstance(given, str):
        return read(given) if given.endswith(SUFFIX) else given
    if isinstance(given, FileEnds):
        return given
    if all(isinstance(end, str) for pair in given for end in pair):
        return parse_cables("the machine's fabric", [list(pair) for pair in given])
    return tuple(given)  # type: ignore[arg-type]  # ends that have been read
