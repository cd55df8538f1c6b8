"""MPI programs of the kit. Rank 0 prints figures as a JSON object."""
