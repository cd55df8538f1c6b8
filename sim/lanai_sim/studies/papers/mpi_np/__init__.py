"""MPI-NP (1999): its experiments run here (`experiments`), and what they say of each claim
(`answers`)."""
