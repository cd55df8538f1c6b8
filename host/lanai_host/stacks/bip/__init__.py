"""`bip`: an MPI on a thin firmware, as BIP and MPI-BIP are described by the thesis on MPI-NP (1999): the NIC
moves packets, the host does the rest."""
