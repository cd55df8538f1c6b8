"""The remote-memory adapter: processes write, read and change each other's memory without a
processor on the way.

It is an optional block of the NIC (`Remote` in `NicConfig.blocks`). docs/reference/remote.md
describes what software sees. `RemoteAdapter` (block.py) wires these parts:

                           host's window
                                 |
     +------------------------ HostSide -----------------------+
     | commands                  | stores                      | tables
    CommandQueue              Aperture                      Lookup (AccessCheck, Walker):
     |                         (StreamBuffers)               bus addresses for sender and server
    CommandCutter                |
     |          requests         |
     +-------> Sequencer <-------+                          Links: sessions with peers,
                |     ^                                      for sender and server
       requests |     | answers
                v     |
    PacketSender <-- PacketServer <--- PacketBuffers <--- packets_in
     (PacketBuilder)   (Parse, Transport, ReceiveOrder) <--- Completion: ends of requests
      |     |   replies   |
      |     |             | AccessWork, AccessDone
      |     |             |
      |     |           Mover (FifoWords, FifoAppend, AtomicUnit, WriteData)
      |  BoundedReads  BoundedBurst
      |     |             |
      |     +-------------+--> BurstArbiter --> host bus, host memory
      v
     packets_out

A request's way, for a WRITE of process P to a peer:

1. P's host writes the words of a command into its page of the window. `HostSide` keeps them, and its
   `CommandQueue` lets the processes take turns.
2. `CommandCutter` cuts the command into requests: a packet's data lie in one page at either end.
3. `Sequencer` numbers a request and keeps it until it is answered. If no answer comes, it sends again.
4. `PacketSender` asks `Lookup` where P's data lie, reads them (`BoundedReads`) and sends the packet, whose
   words `PacketBuilder` chooses.
5. At the peer, `PacketBuffers` keeps the packet until its CRC has proved right.
6. `Parse` takes its first words and checks its form. `Transport` checks its place in the order (`ReceiveOrder`),
   and offers its `AccessWork` to the `Mover`. `PacketServer` joins the three. The mover asks `Lookup` for the bus
   address, where `AccessCheck` compares key, right and range, and writes the data (`BoundedBurst`).
7. A `Reply` goes to the peer's `PacketSender` and comes back as a packet. Our `Transport` checks it, and
   `Sequencer` ends the request.
8. If it was the command's last, the end (`Completion`) takes its turn beside packets, and the `Mover` writes the
   command's flag into P's memory.

With `match_cells` a `MatchStage` stands between `PacketServer` and `Mover`. With `groups` `Collect` takes COLLECTs from
`PacketServer`, and gives requests to `Sequencer` beside those of commands.
"""
