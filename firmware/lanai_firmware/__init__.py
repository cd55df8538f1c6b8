"""The MCP in Python, the toolchain that compiles it for the Lanai, and the golden model of the
ISA."""
