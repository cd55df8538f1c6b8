"""Ranks that are killed on purpose, snapshots of ranks, and ranks restarted from them."""
