"""The host bus: the NIC as PIO target and as master of host memory, at the cost of a PCI bus."""
