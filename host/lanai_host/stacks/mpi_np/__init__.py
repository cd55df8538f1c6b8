"""The `mpi-np` device: MPI-NP (1999), the protocol on the network interface.

The host places requests and reads records; matching, credit and rendezvous are the firmware's. What
is left here: short bodies are written by the processor (NP-41), long ones are pinned and described
(NP-44); what the NIC has no room for waits in queues, so that any number of operations may be
outstanding.

    device      the interface that the MPI library calls; looking and sleeping
    operations  a send and a receive under way, and the memory that each lends; those that the NIC has no room for
    sending     sends onto the NIC, in order for each destination; peers that do not answer
    receiving   receives onto the NIC, and messages off it
    records     what the NIC tells, and waiting for it; operations undone
    share       what the rank holds on its NIC, and how much of it is free
    endpoint    request slots and records, whatever they mean
    driver      the trusted half: it boots the NIC
"""
