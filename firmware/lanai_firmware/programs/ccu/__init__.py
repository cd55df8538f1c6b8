"""The multicast daemon of the CCU MPI: reliable packets to any set of nodes over a network that
loses some."""
