"""The Lanai processor."""
