"""A program on a machine: processes, ranks, what serves them, and how a run ends."""
