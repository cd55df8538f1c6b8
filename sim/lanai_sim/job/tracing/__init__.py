"""The parts that write a run's trace while it goes on. `lanai_sim.trace` has the file's format and reads it."""
