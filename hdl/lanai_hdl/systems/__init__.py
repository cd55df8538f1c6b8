"""Several NICs wired together, for tests that need no engine."""
