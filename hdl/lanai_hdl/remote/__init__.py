"""The remote-memory adapter: processes write, read and change each other's memory without a
processor on the way.

It is an optional block of the NIC (`Remote` in `NicConfig.blocks`). docs/reference/remote.md
describes what software sees.
"""
