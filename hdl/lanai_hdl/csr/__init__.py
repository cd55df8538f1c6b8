"""Control and status registers: how a block declares them, and the collection of all blocks that
makes a machine.

Everything here and in each block's `csr.py` is plain Python without gateware, so that firmware
tools, drivers and ranks can read it cheaply.
"""
