"""A rank's connection to the simulator, and the trace records that it writes."""
