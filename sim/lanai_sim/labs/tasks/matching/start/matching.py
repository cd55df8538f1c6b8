"""Lab 3: matching messages with receives, as the NIC's firmware does for every message that arrives.

Fill the gaps, marked TODO. `lanai lab grade 3` runs the cases.
"""

from lanai_firmware.lang import Array, Const, Global, Ptr, Struct, address_of, firmware, null, u32

ANY: Const[u32] = u32(0xFFFFFFFF)  # a receive's source or tag: each will do
RECEIVE: Const[u32] = u32(1)  # kinds of operations
MESSAGE: Const[u32] = u32(2)
OPERATIONS: Const[u32] = u32(400)


class Entry(Struct):
    """A receive or a message. Sources and contexts are below 256, tags below 65536."""

    next: Ptr["Entry"]
    number: u32  # of its operation
    source: u32
    tag: u32
    context: u32
    # TODO: more, if you need it. All is 0 at the start.


class Lists(Struct):
    receives: Ptr[Entry]  # the oldest that waits; null if there is none
    messages: Ptr[Entry]
    # TODO: more, if you need it.


class Operation(Struct):
    kind: u32
    source: u32
    tag: u32
    context: u32


lists: Global[Lists]
entries: Global[Array[Entry, 400]]
script: Global[Array[Operation, 400]]  # the bench writes it
answers: Global[Array[u32, 400]]  # the bench reads them


@firmware
def post(receive: Ptr[Entry]) -> Ptr[Entry]:
    """The host posts a receive. Return the oldest message that waits and matches, and forget it. If there is none,
    the receive waits behind all others; return null."""
    # TODO 1
    return null(Entry)


@firmware
def arrived(message: Ptr[Entry]) -> Ptr[Entry]:
    """A message arrives. Return the oldest receive that waits and matches, and forget it. If there is none, the
    message waits behind all others; return null."""
    # TODO 2
    return null(Entry)


@firmware
def main() -> None:
    """Do what the script says, to its end. An answer is the number of the operation that fits, plus 1, or 0."""
    for i in range(OPERATIONS):
        operation = address_of(script[i])
        if operation.kind == 0:
            return
        entry = address_of(entries[i])
        entry.number = i
        entry.source = operation.source
        entry.tag = operation.tag
        entry.context = operation.context
        found = post(entry) if operation.kind == RECEIVE else arrived(entry)
        if found:
            answers[i] = found.number + 1
