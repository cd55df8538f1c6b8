"""Attributes of memories, for synthesis. They stand beside the memory that they are about."""

# For a small but wide memory, which Yosys would make of LUTs.
IN_BLOCK_RAM = {"ram_style": "block"}

# A synchronous read may get anything from a word that is written in the same slot, so that no logic need
# see to that. `lanai_sim.fpga.ecp5` tells Yosys. Left alone, Yosys compares addresses, the late ones.
ANY_ON_COLLISION = {"any_on_collision": 1}
