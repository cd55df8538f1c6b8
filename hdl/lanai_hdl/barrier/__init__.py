"""The barrier tree: 16 bits of each NIC, combined by the switches (T3D)."""
