"""The self-test that a bitstream carries preloaded."""

from lanai_hdl.config import NicConfig

from .report import Report

__all__ = ["Report", "words"]


def words(config: NicConfig) -> list[int]:
    """The image of the self-test as the SRAM's first words."""
    from ..compiler import build  # the toolchain is needed to build, not to read a report

    image = build(f"{__name__}.main", config)
    data = bytes(image.memory)
    data += bytes(-len(data) % 4)
    return [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
