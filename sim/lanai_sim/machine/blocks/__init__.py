"""The optional hardware blocks that `lanai run --block` puts into each NIC.

`barrier` and `remote` are the project's own. A module or package `my_block` in `blocks/` of a
directory on LANAI_PATH that holds `BLOCK`, a class of `lanai_hdl.block_config.BlockConfig` whose
`name` is `my_block`, is the block `my-block`. Its parameters have defaults. Nothing else needs to be
registered.
"""

from functools import cache

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.block_config import BlockConfig
from lanai_hdl.errors import unknown
from lanai_hdl.remote.config import Remote
from lanai_host import plugins
from lanai_host.plugins import Contract, usable

OWN: dict[str, type[BlockConfig]] = {one.name: one for one in (BarrierTree, Remote)}
CONTRACT = Contract(
    "block", __name__, "BLOCK", BlockConfig, lambda found: str(found.name).replace("_", "-"), is_class=True
)

# At the import, as a process that elaborates gateware imports blocks by their modules.
plugins.extend(__path__, "blocks")


@cache
def names() -> tuple[str, ...]:
    """The blocks that exist, by name."""
    return tuple(sorted(plugins.names_with(__path__, "blocks", OWN)))


def block(name: str) -> BlockConfig:
    """Return the block of that name with its default parameters."""
    if name not in names():
        raise unknown("block", name, names())
    found: type[BlockConfig] = OWN.get(name) or CONTRACT.load(name)
    return CONTRACT.make(name, found)


def blocks() -> tuple[BlockConfig, ...]:
    """The blocks that exist, with their default parameters. Broken ones are left out, with a warning."""
    return tuple(found for _, found in usable(names(), block))
