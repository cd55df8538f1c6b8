"""`mbcf`: MPI/MBCF (Morimoto, 1999), on remote writes and FIFOs in the receiver's memory."""
