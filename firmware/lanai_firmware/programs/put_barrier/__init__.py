"""The put firmware, with the barrier tree: for NICs that have its block."""
