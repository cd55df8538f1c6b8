"""Studies beyond the papers, a few of a kind in a module; `catalog` has all."""
