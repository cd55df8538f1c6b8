"""Simulated time: the tasks of a run, the nodes they drive, and the cluster that an engine
advances."""
