"""The status word that all three DMA engines share."""

from enum import IntFlag


class Status(IntFlag):
    """HDMA_STATUS, SEND_STATUS, RECV_STATUS. FREE masks the number of free queue entries."""

    FREE = 0xFF
    # something is queued or running, and not stopped (RECV_STATUS: a packet is now being written)
    BUSY = 1 << 8
    ERROR = 1 << 9  # HDMA_STATUS: the descriptor that finished last had an error
    CHECKED = 1 << 10  # RECV_STATUS: the packet now being written has passed a CHECK flit
    LINK_UP = 1 << 11  # SEND_STATUS and RECV_STATUS: the link has a carrier
    # HDMA_STATUS: a descriptor with STOP has failed, and HOST_DMA_ERROR has not been cleared since
    STOPPED = 1 << 12
