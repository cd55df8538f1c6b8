"""The board `ulx3s-12f`: a ULX3S with the smallest FPGA. Its die is that of an ECP5-25."""

from dataclasses import replace

from amaranth_boards.ulx3s import ULX3S_12F_Platform

from lanai_hdl.boards import BOARDS

BOARD = replace(
    BOARDS["ulx3s-25f"],
    name="ulx3s-12f",
    description="Radiona ULX3S, ECP5 LFE5U-12F, NIC at 60 MHz with 64 KiB of block RAM",
    platform=ULX3S_12F_Platform,
    part="LFE5U-12F",
)
