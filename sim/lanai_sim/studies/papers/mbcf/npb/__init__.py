"""The NAS Parallel Benchmarks, for table 4.3: built from the user's own copy, and run. None of their source is here."""
