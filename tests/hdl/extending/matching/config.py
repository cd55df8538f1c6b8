"""The matching block as an entry of `NicConfig.blocks`."""

from dataclasses import dataclass

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.errors import UserError

from .csr import MATCHING


@dataclass(frozen=True)
class Matching(BlockConfig):
    """`tag_bits`: how many bits of a tag are compared at most."""

    name = "matching"
    declares = MATCHING

    tag_bits: int = 32

    def __post_init__(self):
        if not 1 <= self.tag_bits <= 32:
            raise UserError(f"tag_bits={self.tag_bits!r} must be a whole number from 1 to 32")

    def build(self, config):
        from .block import MatchingBlock

        return MatchingBlock(self.tag_bits)
