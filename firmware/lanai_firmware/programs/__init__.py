"""Firmware, one package each."""
