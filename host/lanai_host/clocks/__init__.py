"""Simulated clocks for ranks: a library that is loaded before the C library, and the rank's end of it.

`reading.c` says what it replaces, `bridge.c` how it asks the MPI library for the rank's time.
"""
