"""The block as an entry of `NicConfig.blocks`."""

from dataclasses import dataclass

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.errors import UserError

from .csr import TALLY


@dataclass(frozen=True)
class Tally(BlockConfig):
    """`limit`: bytes of the longest piece that counts as short."""

    name = "tally"
    declares = TALLY

    limit: int = 64

    def __post_init__(self):
        if not 0 <= self.limit < 2**16:
            raise UserError(f"limit={self.limit!r} must be a whole number from 0 to 65535")

    def build(self, config):
        from .block import TallyBlock

        return TallyBlock(self.limit)
