"""A paper that was never written: what `echo` would have claimed of itself."""
