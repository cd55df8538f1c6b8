"""`t3d`: the device of MPICH on the Cray T3D (1996). All data move by put; messages are matched on
the receiver's host."""
