"""The work of the host's processor for a message on any messaging system, and its cost.

    meter       charges all host work
    queues      receives and messages that wait, found by source and tag
    compared    how many envelopes a processor compares to find one of them: a list, or a hash table
    matcher     which message meets which receive
    operations  sends and receives under way, and how a receive gets its bytes

A messaging system adds what its paper adds, and charges nothing but by its meter.
"""
