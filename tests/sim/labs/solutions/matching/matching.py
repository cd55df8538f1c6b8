"""Lab 3, solved: an envelope is one word, a wildcard is a mask, and each list knows its last entry."""

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
    key: u32  # the envelope in one word
    care: u32  # ones where the key must be equal


class Lists(Struct):
    receives: Ptr[Entry]  # the oldest that waits; null if there is none
    messages: Ptr[Entry]
    last_receive: Ptr[Entry]
    last_message: Ptr[Entry]


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
def key_of(entry: Ptr[Entry]) -> u32:
    return entry.source << 24 | entry.context << 16 | entry.tag & 0xFFFF


@firmware
def post(receive: Ptr[Entry]) -> Ptr[Entry]:
    care = u32(0x00FF0000)
    if receive.source != ANY:
        care |= 0xFF000000
    if receive.tag != ANY:
        care |= 0x0000FFFF
    key = key_of(receive)
    before = null(Entry)
    node = lists.messages
    while node and (node.key ^ key) & care != 0:
        before = node
        node = node.next
    if node:
        if before:
            before.next = node.next
        else:
            lists.messages = node.next
        if lists.last_message == node:
            lists.last_message = before
        return node
    receive.key = key
    receive.care = care
    if lists.receives:
        lists.last_receive.next = receive
    else:
        lists.receives = receive
    lists.last_receive = receive
    return null(Entry)


@firmware
def arrived(message: Ptr[Entry]) -> Ptr[Entry]:
    key = key_of(message)
    before = null(Entry)
    node = lists.receives
    while node and (node.key ^ key) & node.care != 0:
        before = node
        node = node.next
    if node:
        if before:
            before.next = node.next
        else:
            lists.receives = node.next
        if lists.last_receive == node:
            lists.last_receive = before
        return node
    message.key = key
    if lists.messages:
        lists.last_message.next = message
    else:
        lists.messages = message
    lists.last_message = message
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
