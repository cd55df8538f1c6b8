"""What software reads and writes: registers, events, doorbells, timer, counters."""
