"""One simulation over several processes: each is a part of the machine, and an MPI carries what is on the links
between them.

All parts do the same rounds as one process would, so results do not depend on how many there are: docs/design/parts.md.
"""
