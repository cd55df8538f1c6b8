"""The self-test that a bitstream carries preloaded."""

from lanai_hdl.config import NicConfig

from .report import Report

__all__ = ["Report", "words"]


def words(config: NicConfig) -> list[int]:
    """The image of the self-test as the SRAM's first words."""
    # The toolchain is needed to build, not to read a report.
    from ...compiler import build
    from .main import main

    data = build(main, config).sram()
    data += bytes(-len(data) % 4)
    return [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
