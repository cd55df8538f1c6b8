"""Experiments: benches, sweeps, papers, conformance, and what they share."""
