"""Envelopes meet posted receives: queues, probes, search."""
