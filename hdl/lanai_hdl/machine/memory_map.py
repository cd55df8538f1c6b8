"""Identity and address map: where the processor and the host reach SRAM and registers."""

MACHINE_ID = 0x4C414E41  # "LANA"
MACHINE_VERSION = 0x0001_0001  # major.minor, 16 bits each

# Processor's view. The register window shadows the last 4 KiB of a 1 MiB SRAM: addresses below 1
# MiB are reached by one Lanai instruction, and those above would cost two. DMA engines and the host
# do reach the SRAM beneath the window.
SRAM_BASE = 0x00000
RESET_PC = 0x00000
REGISTERS_LOCAL = 0xFF000
REGISTERS_SIZE = 0x01000

# Host's view: byte offsets in the NIC's PIO window.
SRAM_HOST = 0x000000
REGISTERS_HOST = 0x100000
BOARD_HOST = 0x101000  # registers of a board around the NIC (`lanai_hdl.boards.registers`)
PIO_WINDOW_SIZE = 0x200000

PAGE_SIZE = 4096
