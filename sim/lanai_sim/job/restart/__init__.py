"""Ranks that are killed on purpose, snapshots of ranks, and ranks made anew from them."""
