"""Copies of the code that evaluates a NIC, each compiled for registers with known values.

In most slots registers of parts that do nothing hold one value: engines idle, FIFOs empty, nothing at the
host bus. A copy of Verilator's C++ has them as constants, from which the compiler drops what these parts
would compute. A comparison of the registers before each evaluation chooses the copy, or the code for any
state. What a slot does stays the same.

A `Case` has the values that one copy is for. There are several: only the processor works, long messages
are sent or received, the remote-memory adapter works, it gets its inputs. `rewrite` writes the copies.
`values.txt` has the cases; a value that is not held any more costs speed and nothing else. `choose` finds
the cases in recorded inputs (`lanai replay usual`).

Switches have no copies. `held` is for slots in which their STOP inputs stay as they were.
"""
