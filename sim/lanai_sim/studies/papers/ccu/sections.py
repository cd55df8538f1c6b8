"""The paper's figures, in its order. Of most curves our sources have no numbers, only what the text says of them."""

from ..sections import Section

SECTIONS = (
    Section(
        "Figures 2 to 4: point to point",
        plots={
            "pingpong": (
                "One way of a message that bounces between two nodes, with the two times that the paper's bandwidths "
                "imply. Ours is fitted on these two; what lies between is simulated."
            ),
            "bandwidth": (
                "The same as bandwidth, with the two numbers that the paper prints. It grows with the size, since the "
                "daemons and the wire work on different packets."
            ),
            "ping": (
                "One node keeps sending to the other. The paper has LAM slightly ahead from 6,000 to 8,000 bytes only; "
                "here its stand-in sends these as one datagram."
            ),
            "exchange": ("Both nodes send, then receive. The paper has ours ahead of LAM and MPICH at every size."),
        },
    ),
    Section(
        "Figure 5: broadcast",
        plots={
            "bcast": (
                "A broadcast to seven nodes: until the last of them has it. By hardware it is one packet on the "
                "wire; the other two lines of ours are without that, by a packet or a message for each node."
            )
        },
    ),
    Section(
        "Figures 6 to 8 and 11 to 15: collective operations",
        "All are on eight nodes. The paper's text has ours ahead in all of them; here the "
        "wire is full where many packets of 1,000 bytes want it at once, and then broadcast saves nothing.",
        plots={
            "gather": "Until the root has all parts. Seven messages meet at one daemon, whose work decides.",
            "scatter": "Until the last process has its part. Short vectors are broadcast whole, long ones go in parts.",
            "reduce": "A sum of integers at the root. It receives from all, one after the other.",
            "allgather": "Each process gets the parts of all. By broadcast each part is on the wire once.",
            "alltoall": "Each process has a part for each other one. No part is for all, so broadcast cannot help.",
            "allreduce": "A sum of integers at all. It is a reduce and a broadcast.",
            "reduce-scatter": "A sum of which each process gets a part. It is a reduce and a scatter.",
            "scan": "Each process gets the sum up to its own. Each waits for the one before it.",
        },
    ),
    Section(
        "Figures 9 and 10: programs",
        plots={
            "bitonic": (
                "Bitonic merge sort on eight nodes: the slowest process, by the integers of each. Processors compute "
                "in no time, so this is communication only."
            ),
            "cannon": (
                "Cannon's matrix product on nine nodes, by the rows of a block. Each step shifts a block of A and "
                "one of B."
            ),
        },
    ),
    Section(
        "Windows and acknowledgements",
        plots={
            "window": (
                "A long message through SunOS's buffer of 32 KB while another process has the receiver's workstation "
                "at times. The paper's best window is 30; which one is best here depends on the time slices and the "
                "rule for acknowledgements, which were chosen."
            ),
            "stall": (
                "A long message with a window of 25, by the packets for which the receiver acknowledges once. The "
                "paper acknowledges 25 at once, so that the sender waits at the end of each window."
            ),
            "linear": ("A reduce by the number of nodes. The root receives from all, so the time grows in proportion."),
        },
    ),
)
