"""The phy: a link between two boards over ordinary pins, source-synchronous, each board with a clock of its own.

Each way has four data pins, a control pin and a clock, at double data rate: a *symbol* a slot, which is 8 data bits
and both halves of the control pin. Both halves are 1 for a control symbol and 0 for a byte.

| module | has |
|---|---|
| `symbols` | the code, and the check of route words |
| `receiver` | `PhyReceiver`: symbols to flits, in the domain of the clock that comes with them |
| `transmitter` | `PhyTransmitter`: flits to symbols |
| `training` | training as each pin has it, and which wires are wrong |
| `phy` | `Phy`: both, and what crosses between the clocks |

A flit is its bytes, the first on top: DATA alone, HEAD, TAIL and CHECK behind their control symbol. A HEAD has a
fifth byte, a CRC of its route word: the CRC of packets covers their words only, and a damaged route would take a
sound packet to another NIC. Between flits stands flow control: REST between packets and GO within one, or REST_STOP
and STOP, which ask for no more flits. It stands at least once in `REPEAT` flits and wherever there is no flit, so one
that is lost does not last. REST within a packet, or another HEAD, says that its TAIL was lost: the packet is ended
there with a wrong CRC.

Without a link both sides send TRAIN, MARK and THIRD by turns. Where two wires are swapped or one is inverted, some of
them are other symbols, and the link stays down; `training` tells by three of them which wires these are. A side that
has received `LOCK` training symbols in a row is *locked*, and sends HEARD in the place of MARK. One that is locked
and heard is *up*, and sends flow control and flits. It goes down when the clock from the other side stops, when
unknown symbols come often, and when the other side trains again.
"""
