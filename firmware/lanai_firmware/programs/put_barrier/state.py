"""The memory of the barrier tree's part of the firmware."""

from lanai_firmware.lang import Array, Global, Struct, u32


class Tree(Struct):
    bits: u32  # this NIC's
    waiting: u32  # bits whose barriers are not passed
    result: u32  # where the host wants to see the switch's bits, on the bus
    word: Array[u32, 1]  # what the host DMA copies there


tree: Global[Tree]
