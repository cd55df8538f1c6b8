"""Waveforms of a NIC for a viewer."""
