"""The simulated machine as data: the fabric, its cables and switches, and the faults on them."""
