"""The host memory that a rank may name: its window of bus addresses, which its driver gave to the NIC."""

from lanai_firmware.lang import inline, u32


@inline
def holds(window: u32, mask: u32, address: u32, length: u32, block: u32) -> bool:
    """Is this run of bytes the rank's own? Its window is the addresses a with (a ^ window) & mask == 0.

    The run has a byte or more, and lies in one block of the window: `block` bytes, a power of two, and at most
    the window's. So the window of the first byte is that of all.
    """
    outside = (address ^ window) & mask
    return outside == 0 and length - 1 <= (~address & (block - 1))
