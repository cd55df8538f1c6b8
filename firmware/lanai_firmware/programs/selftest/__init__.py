"""The self-test that a bitstream carries preloaded. It reports in SCRATCH7."""

from .report import Report

__all__ = ["Report"]
