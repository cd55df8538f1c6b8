"""The MCP: the program of the NIC's processor, which runs the MPI protocol (NP-01).

One idea a file: `layout` and `state` declare memory; `hostdma`, `outgoing` and `incoming` move data; `credit`, `heap`,
`matching`, `pulling`, `sending`, `answering`, `probing` are the protocol; `requests`, `scheduler`, `boot` and `main` drive it.
"""
