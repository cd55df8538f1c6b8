"""The `mpi-np` device: MPI-NP (1999), the protocol on the network interface.

The host places requests and reads records; matching, credit and rendezvous are the firmware's. What
is left here: short bodies are written by the processor (NP-41), long ones are pinned and described
(NP-44); what the NIC has no room for waits in queues, so that any number of operations may be
outstanding.

    device       the interface that the MPI library calls; only wires the rest
    share         what the rank holds on its NIC, and how much of it is free
    operations   a send and a receive under way
    sending      sends onto the NIC, in order for each destination
    receiving    receives onto the NIC; those it has no room for
    posting      one receive request
    taking       messages off the NIC
    cancelling   operations undone
    records      what the NIC tells, and waiting for it
    losing       peers that do not answer
    progress     looking, and sleeping
    memory       memory lent to the NIC
    host_queues  queues of what the NIC has no room for
"""
