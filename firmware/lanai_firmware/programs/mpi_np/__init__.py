"""MPI-NP's firmware: the program of the NIC's processor, which runs the MPI protocol (NP-01).

    program     the `Firmware` object
    layout      what host, NIC and wire exchange
    state       the firmware's own memory
    plan        how the driver shares out the SRAM
    border      requests, records, request slots
    wire        packets in and out, credit, recovery
    matching    receives and messages
    protocol    eager sends, rendezvous, answers
    memory      heap, host memory, host DMA
    trace       how traces read packets and tables

`scheduler`, `boot` and `main` drive it.
"""
