"""The gateware behind the buses that other designs have, and what leaves as files: see `lanai verilog`.

Byte order of all of them: the byte at address `a` of the NIC's window, of host memory or of a packet is the byte at
`a` on the bus, which a 32-bit bus carries in bits 8 * (a % 4) and up. The NIC is big-endian. So a processor that is
little-endian reads a register with its bytes reversed, as from a big-endian PCI card, and copies of bytes come out
as they were.

| module | has |
|---|---|
| `axi` | AXI4 and AXI4-Lite: the host's window as a subordinate, host memory as a manager |
| `wishbone` | Wishbone, likewise |
| `axi_stream` | the link as two AXI4-Streams of flits |
| `tops` | the blocks as tops of their own, wrapped or not |
"""
