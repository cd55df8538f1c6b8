"""The worked example of docs/extending.md: a hardware block with four registers, an event and a
counter.

All of it is this folder, and one entry in `NicConfig.blocks`.
"""
