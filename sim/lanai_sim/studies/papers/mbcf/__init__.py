"""MPI/MBCF (Morimoto, 1999): its measurements done again on the device `mbcf`."""
