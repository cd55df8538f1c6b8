"""Questions of other NICs become answers, in the order in which they came. One is dealt with at a
time, so changes are atomic."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST, TO_SRAM
from .common import gone, number_packet, room_to_begin
from .layout import ASKS, BODY, BUS, HEADER, KIND_AT, KIND_MASK, LENGTH, NODES, SPOILT, Counter, Kind
from .state import BUFFERS, Kept, Outgoing, nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
GET: Const[u32] = u32(int(Kind.GET))
ADD: Const[u32] = u32(int(Kind.ADD))
FENCE: Const[u32] = u32(int(Kind.FENCE))
ANSWER: Const[u32] = u32(int(Kind.ANSWER) << int(KIND_AT))
PLACES: Const[u32] = u32(BUFFERS)
ALL_NODES: Const[u32] = u32(int(NODES))
WORD: Const[u32] = u32(4)
BEHIND: Const[u32] = u32(1 << 15)  # in a difference of two numbers of packets: the first is the lower one


@firmware
def keep(packet: Ptr[u32]) -> None:
    """Remember a question of a node of the job. A NIC has at most OUTSTANDING of them, so there is room
    for those of all nodes."""
    if packet[2] >> 16 >= nic.config.nodes or nic.kept - nic.answered == ASKS:
        nic.counters[FAULTS] += 1
        return
    ask = address_of(nic.asks[nic.kept % ASKS])
    ask.address = packet[0]
    ask.length = packet[1]
    ask.number = packet[2]
    ask.result = packet[3]
    ask.operand = packet[4]
    nic.kept += 1


@firmware
def answer() -> bool:
    """Begin the answer to the oldest question. False if there is none, or it must wait."""
    if nic.answered == nic.kept or not room_to_begin():
        return False
    ask = address_of(nic.asks[nic.answered % ASKS])
    kind = ask.length >> KIND_AT & KIND_MASK
    if kind == FENCE:
        return answer_fence(ask)
    if gone():
        send(ask, 0, SPOILT)
        return True
    if kind == GET:
        get(ask, ask.length & LENGTH)
        return True
    return change(ask)


@firmware
def get(ask: Ptr[Kept], size: u32) -> None:
    """Answer with bytes from memory. A question for more than a packet holds is refused."""
    if size > BODY:
        send(ask, 0, SPOILT)
        return
    packet = begin_answer(ask, size, 0)
    host_dma.queue(place(ask), u32(address_of(packet.packet)) + HEADER, size, TO_SRAM)
    nic.transfers += 1
    packet.fetch = nic.transfers
    packet.fetched = nic.transfers


@firmware
def place(ask: Ptr[Kept]) -> u32:
    """The bus address that a question is about."""
    return ask.address if ask.length & BUS != 0 else ask.address + nic.border.heap


@firmware
def answer_fence(ask: Ptr[Kept]) -> bool:
    """All that the node sent before its fence has been received. The answer leaves when all of it is in
    memory, as `send` has it."""
    node = ask.number >> 16 & ALL_NODES - 1
    if nic.got_from[node] - ask.number - 1 & BEHIND != 0:
        return False
    send(ask, 0, 0)
    return True


@firmware
def change(ask: Ptr[Kept]) -> bool:
    """Fetch the word; at the next call store what it becomes, and answer with what it was."""
    if nic.fetched_word == 0:
        host_dma.queue(place(ask), u32(address_of(nic.word)), WORD, TO_SRAM)
        nic.transfers += 1
        nic.fetched_word = nic.transfers
        nic.word_failed = 0
        return False
    if not host_dma.reached(nic.fetched_word):
        return False
    nic.fetched_word = 0
    if nic.word_failed != 0:
        send(ask, 0, SPOILT)
        return True
    before = nic.word[0]
    nic.word[0] = ask.operand + before if ask.length >> KIND_AT & KIND_MASK == ADD else ask.operand
    host_dma.queue(place(ask), u32(address_of(nic.word)), WORD, TO_HOST)
    nic.transfers += 1
    packet = begin_answer(ask, WORD, 0)
    packet.packet[HEADER // 4] = before
    packet.fetched = nic.transfers
    return True


@firmware
def send(ask: Ptr[Kept], size: u32, flags: u32) -> None:
    """Answer with no bytes from memory. The answer leaves behind all transfers so far."""
    packet = begin_answer(ask, size, flags)
    packet.fetched = nic.transfers


@firmware
def begin_answer(ask: Ptr[Kept], size: u32, flags: u32) -> Ptr[Outgoing]:
    """The question is dealt with: its answer's packet, with all but its bytes."""
    packet = address_of(nic.outgoing[nic.begun % PLACES])
    node = ask.number >> 16 & ALL_NODES - 1
    packet.route = nic.config.routes[node]
    packet.size = HEADER + size
    packet.packet[0] = ask.result
    packet.packet[1] = ANSWER | BUS | size | flags
    packet.packet[2] = number_packet(node, ALL_NODES)
    packet.fetch = 0
    packet.ends = 0
    nic.begun += 1
    nic.answered += 1
    return packet
