"""MPICH on the Cray T3D, measured again."""
