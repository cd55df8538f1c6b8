"""The parts that software reads and writes: registers, events, doorbells, timer, counters."""
