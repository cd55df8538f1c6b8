"""Puts on the gateware: bytes arrive where they should, from a request's own words and from memory,
and more than the ring holds."""

import pytest

from lanai_firmware.lang import offset_of
from lanai_firmware.programs.put import state
from lanai_firmware.programs.put.layout import BUS, FLAG, KIND_AT, RING, Counter, Kind
from lanai_firmware.programs.put.program import FIRMWARE
from lanai_firmware.vocabulary import Part
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, host_offset
from lanai_host.bus.base import PAGE_SIZE, Pinned
from lanai_host.config import HostConfig
from lanai_host.host_model.meter import Meter
from lanai_host.stacks.loader import load, reset, start
from lanai_host.stacks.t3d.by_firmware import FirmwarePuts
from lanai_host.stacks.t3d.heap import HEADER, LONG, REPLY, SHORT, WORD, Heap, HeapLayout, T3dOptions
from lanai_host.stacks.t3d.puts import Put, Question, Remote
from lanai_host.stacks.t3d.stack import VOCABULARY, Type, config_words, plan
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics.switches import star

LAYOUT = HeapLayout(2, T3dOptions())
PLACE = LAYOUT.slot(0)


class Host:
    """One of two hosts, each with its heap and its queue of puts."""

    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.image = FIRMWARE.image(cluster.config)

    def up(self, bus):
        reset(bus)
        load(bus, self.image)
        nic = self.image.address(FIRMWARE.symbol("nic"))
        words = config_words([self.cluster.fabric.route(self.number, n) for n in range(2)])
        bus.write_block(SRAM_HOST + nic + int(offset_of(state.Nic, "config")), words)
        bus.write(host_offset("SCRATCH1"), self.number)
        bus.write(host_offset("SCRATCH2"), 0)
        start(bus, FIRMWARE)
        self.bus = bus
        self.heap = Heap(LAYOUT, bus.allocate(LAYOUT.size))
        border = nic + int(offset_of(state.Nic, "border"))
        self.puts = FirmwarePuts(bus, self.heap.memory, LAYOUT.staging, border, Meter(HostConfig(), bus.elapse))
        self.puts.open()

    def until(self, done):
        while not done():
            seen = self.heap.counter(Counter.SUM)
            self.puts.push()
            if not done() and self.heap.counter(Counter.SUM) == seen:
                self.bus.wait_change(self.heap.memory, WORD.size * Counter.SUM, seen)


def play(sender, receiver):
    cluster = Cluster(star(2), lanai41())
    hosts = [Host(cluster, number) for number in range(2)]

    def send(bus):
        hosts[0].up(bus)
        sender(hosts[0])
        hosts[0].until(lambda: hosts[0].puts.completed(hosts[0].puts.asked))
        hosts[0].puts.close()

    def receive(bus):
        hosts[1].up(bus)
        receiver(hosts[1])
        hosts[1].puts.close()

    cluster.spawn(0, send)
    cluster.spawn(1, receive)
    cluster.run()
    cluster.close()
    return hosts


def received(host, count):
    return host.until(lambda: host.heap.counter(Counter.RECEIVED) == count)


@pytest.mark.parametrize("size", [4, 96, 97, 100, 1023])
def test_bytes_of_the_library_arrive(size):
    data = bytes(n % 251 for n in range(size))

    def send(host):
        host.puts.put(Put(Remote(1, PLACE), data))
        host.puts.push()

    hosts = play(send, lambda host: received(host, 1))
    assert hosts[1].heap.view[PLACE : PLACE + size].tobytes() == data
    assert hosts[1].heap.view[PLACE + size] == 0
    assert hosts[1].heap.counter(Counter.FAULTS) == 0


@pytest.mark.parametrize(("offset", "size"), [(0, 4096), (3, 4093), (1, 1), (2, 2049)])
def test_bytes_of_memory_arrive_in_packets(offset, size):
    data = bytes(n * 7 % 253 for n in range(size))

    def send(host):
        page = host.bus.allocate(4096 + offset)
        page.view[offset : offset + size] = data
        host.puts.put(Put(Remote(1, LAYOUT.staging(0)), source=page.bus_address + offset, size=size))
        host.puts.push()

    hosts = play(send, lambda host: received(host, -(-size // 2048)))
    begin = LAYOUT.staging(0)
    assert hosts[1].heap.view[begin : begin + size].tobytes() == data


def test_more_puts_than_the_ring_holds_arrive_in_order():
    count = 3 * int(RING) + 5

    def send(host):
        for number in range(count):
            host.puts.put(Put(Remote(1, PLACE + 4 * number), WORD.pack(number + 1)))
            host.puts.put(Put(Remote(1, PLACE), WORD.pack(number + 1)))
        host.puts.push()

    seen = []

    def receive(host):
        def done():
            seen.append(host.heap.word(PLACE))
            return host.heap.counter(Counter.RECEIVED) == 2 * count

        host.until(done)

    hosts = play(send, receive)
    words = [hosts[1].heap.word(PLACE + 4 * number) for number in range(1, count)]
    assert words == list(range(2, count + 1))
    assert seen == sorted(seen)
    assert seen[-1] == count


def test_no_flag_arrives_behind_bytes_that_could_not_be_written():
    def send(host):
        host.puts.put(Put(Remote(1, PLACE), WORD.pack(1), flag=True))
        host.puts.put(Put(Remote(1, 0x7FFF_F000, named=True), bytes(2048)))
        host.puts.put(Put(Remote(1, PLACE + 4), WORD.pack(2), flag=True))
        host.puts.put(Put(Remote(1, PLACE + 8), WORD.pack(3)))
        host.puts.push()

    def receive(host):
        host.until(lambda: host.heap.counter(Counter.RECEIVED) == 4 and host.heap.counter(Counter.FAULTS) == 1)

    hosts = play(send, receive)
    assert [hosts[1].heap.word(PLACE + 4 * n) for n in range(3)] == [1, 0, 3]


def test_questions_are_answered_behind_the_puts_before_them():
    words = {"swap": (Kind.SWAP, 7), "add": (Kind.ADD, 5), "get": (Kind.GET, 0)}

    def send(host):
        bus = host.heap.memory.bus_address
        host.puts.put(Put(Remote(1, PLACE), WORD.pack(3)))
        for place, (kind, operand) in enumerate(words.values()):
            host.puts.ask(Question(kind, Remote(1, PLACE), bus + PLACE + 4 * place, operand=operand))
        host.puts.fence(1, bus + LAYOUT.nothing)
        host.puts.put(Put(Remote(1, PLACE + 4), WORD.pack(1)))
        host.puts.push()
        host.until(lambda: not host.puts.unanswered)

    hosts = play(send, lambda host: received(host, 2))
    assert [hosts[0].heap.word(PLACE + 4 * n) for n in range(3)] == [3, 7, 12]
    assert hosts[1].heap.word(PLACE) == 12


def test_runs_are_put_one_behind_the_other_and_cut_where_pages_end():
    """Here, and at the peer, whose two pages do not lie side by side."""

    class Unsent(FirmwarePuts):
        def __init__(self):
            self.asked, self._waiting = 0, []

    puts, page = Unsent(), PAGE_SIZE
    pinned = Pinned(0, 4 * page, True, tuple(0x10_0000 * (n + 1) for n in range(4)))
    puts.put_runs(1, [0x9000_0F00, 0x8000_0000], pinned, [(page - 40, 100), (3 * page, 200), (8, 16)])
    assert [(put.there.address, put.source, put.size) for put in puts._waiting] == [
        (0x9000_0F00, 0x10_0000 + page - 40, 40),
        (0x9000_0F28, 0x20_0000, 60),
        (0x9000_0F64, 0x40_0000, 156),
        (0x8000_0000, 0x40_0000 + 156, 44),
        (0x8000_002C, 0x10_0000 + 8, 16),
    ]


# The meaning of a put, which follows from its place.

LAYOUT_TRACE = HeapLayout(4, T3dOptions())
PLAN = plan(0x1000, LAYOUT_TRACE)
END_OF_REPLY = LAYOUT_TRACE.reply(4) - REPLY.size  # of the fourth: where its addresses end


def see(address, length, *content, source=2):
    return VOCABULARY.see([address, length, source << 16 | 5, *content, *[0] * (4 - len(content))], PLAN)


@pytest.mark.parametrize(
    ("address", "length", "content", "part"),
    [
        (LAYOUT_TRACE.header(2), HEADER.size, (SHORT,), Part.SHORT),
        (LAYOUT_TRACE.header(2), HEADER.size, (LONG,), Part.LONG),
        (
            LAYOUT_TRACE.header(2) - 4,
            HEADER.size + 4,
            (LONG, SHORT),
            Part.SHORT,
        ),  # a word of data that looks like a mode
        (LAYOUT_TRACE.header(2) - 1024, HEADER.size + 1024, (LONG,), Part.SHORT),
        (LAYOUT_TRACE.slot(2), 100, (LONG,), Part.REST),  # data before a fence
        (END_OF_REPLY - 8, 8 + REPLY.size, (0x5000, 0x6000), Part.REPLY),
        (END_OF_REPLY, REPLY.size, (2,), Part.REST),
        (LAYOUT_TRACE.flag(2), 4, (0,), Part.FREED),
        (LAYOUT_TRACE.arrival(7), 4 | int(FLAG), (1,), Part.ARRIVED),
        (0x5000, 2048 | int(BUS), (LONG,), Part.BYTES),
        (LAYOUT_TRACE.nothing, 4, (0,), None),
    ],
)
def test_the_place_tells_what_a_put_is(address, length, content, part):
    seen = see(address, length, *content)
    assert (seen.source, seen.part) == (2, part)
    assert seen.type == (Type.HEAP if part is None else part)


def test_a_reply_tells_its_number_and_where_the_first_bytes_go():
    seen = see(END_OF_REPLY - 8, 8 + REPLY.size, 0x5000, 0x6000)
    assert (seen.reply, seen.first) == (3, 0x5000)
    assert see(END_OF_REPLY, REPLY.size, 2).reply == 3


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.PUT])
def test_questions_and_answers_belong_to_no_message(kind):
    seen = see(LAYOUT_TRACE.header(2), HEADER.size | kind << int(KIND_AT), SHORT)
    assert VOCABULARY.type_name(seen.type) == kind.name
    assert seen.part is None


def test_a_waveform_shows_the_header():
    assert VOCABULARY.text([0x20]) == "PUT_address20"
    assert VOCABULARY.text([0x20, 0x8000_0004, 0x2_0005]) == "PUT_address20_length80000004_number20005"
