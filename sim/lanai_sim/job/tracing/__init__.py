"""What a traced run writes while it goes on. `lanai_sim.trace` has the file's format and reads it."""
