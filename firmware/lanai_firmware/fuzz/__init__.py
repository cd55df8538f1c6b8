"""Random programs for proofs: every format, condition, addressing mode, delay slot and flag rule,
and they always end.

`generate(seed)` gives a `Program`: a memory image that starts at address 0, runs through its blocks
a few times, and stops at a known trap.
"""

from .program import Layout, Program, generate

__all__ = ["Layout", "Program", "generate"]
