"""Bitstreams, and the board's top level in simulation."""
