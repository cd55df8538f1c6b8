"""The local bus: who has each slot."""
