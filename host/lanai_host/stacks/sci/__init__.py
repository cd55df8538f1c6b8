"""`sci`: MPI on mapped remote segments, after SCI-MPICH (2002): short, eager and rendezvous
protocols, by puts into segments."""
