"""The engine of boards: NICs whose time is their own, each behind a line of bytes that carries its host bus.

| module | has |
|---|---|
| `lines` | `Boards`: boards at the ends of their lines, and their time |
| `engine` | `BoardEngine`: accesses, host memory and waits as frames on the lines |
| `known` | the boards that exist, by name |
| `simulated` | `SimulatedBoards`: boards in simulation, their phys joined by cables |
| `ports` | `SerialBoards`: real boards on serial ports |

An access takes as long as its frames take on the line: what is measured is the boards with their host paths.
"""
