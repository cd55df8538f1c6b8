"""Puts by the remote-memory adapter, on the gateware: what arrives, in what order, and what is refused."""

import pytest

from lanai_firmware.programs.put.layout import Kind
from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote as Adapter
from lanai_host.adapter.boot import boot
from lanai_host.adapter.operation import Place
from lanai_host.bus.base import PAGE_SIZE, Pinned
from lanai_host.config import HostConfig
from lanai_host.host_model.meter import Meter
from lanai_host.operation import ErrorKind
from lanai_host.process_memory import address_of
from lanai_host.stacks.loader import reset
from lanai_host.stacks.t3d.attachments import ShellAttachment
from lanai_host.stacks.t3d.heap import WORD
from lanai_host.stacks.t3d.puts import Put, Question, Remote
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics.switches import star

ADAPTER = Adapter(streams=4, stream_bytes=32, read_bytes=8)
PLACES = tuple(Place(node, 0, 0x5A5A + node) for node in range(2))
SIZE = 4 * PAGE_SIZE
TURN = 1_000_000  # picoseconds


class Host:
    """One of two hosts, each with its heap and its queue of puts. `seen`: what one tells the other of."""

    def __init__(self, cluster, number, seen):
        self.cluster, self.number, self.seen = cluster, number, seen

    def up(self, bus, late=0):
        """Boot the NIC, and open the heap `late` picoseconds later."""
        reset(bus)
        routes = {peer: self.cluster.fabric.route(self.number, peer) for peer in range(2)}
        boot(bus, ADAPTER, self.number, routes, timeout=2000, retries=2, together=True)
        bus.elapse(late)
        bus.catch_up()
        self.bus = bus
        attachment = ShellAttachment(self.number, PLACES, ADAPTER, {})
        self.puts = attachment.puts(bus, Meter(HostConfig(), bus.elapse), SIZE, int)
        self.puts.open()

    def until(self, done):
        while not done():
            self.puts.look(list)
            self.bus.elapse(TURN)
            self.bus.catch_up()

    def quiet(self):
        """Until all that was put is there."""
        self.puts.fence(1 - self.number, self.puts.memory.bus_address)
        self.until(lambda: not self.puts.unanswered)

    def word(self, offset):
        return WORD.unpack_from(self.puts.memory.view, offset)[0]

    def buffer(self, size):
        """Memory that is pinned: the buffer, its `Pinned` and its address."""
        memory = self.bus.allocate(size)
        address = address_of(memory.view)
        pages = tuple(range(memory.bus_address, memory.bus_address + memory.size, PAGE_SIZE))
        return memory, Pinned(address, size, True, pages), address


def play(*parts, late=0):
    """Run a part on each host. The second one opens its heap `late` picoseconds after its NIC is booted."""
    cluster = Cluster(star(2), lanai41().but(blocks=(ADAPTER,)))
    seen = {}
    hosts = [Host(cluster, number, seen) for number in range(2)]

    def main(host, part):
        def run(bus):
            host.up(bus, late * host.number)
            part(host)

        return run

    for host, part in zip(hosts, parts, strict=True):
        cluster.spawn(host.number, main(host, part))
    cluster.run()
    cluster.close()
    return hosts


def waits(host):
    """Look until the other one says that it has done."""
    host.until(lambda: "done" in host.seen)


@pytest.mark.parametrize("size", [4, 1023, 5000])
def test_bytes_of_the_library_arrive(size):
    data = bytes(n % 251 for n in range(size))

    def send(host):
        number = host.puts.put(Put(Remote(1, 64), data))
        host.puts.push()
        host.until(lambda: host.puts.completed(number))
        host.quiet()
        host.seen["done"] = True

    hosts = play(send, waits)
    assert hosts[1].puts.memory.view[64 : 64 + size].tobytes() == data
    assert hosts[1].puts.memory.view[64 + size] == 0


def test_nothing_leaves_before_the_peer_has_opened_its_heap():
    """The peer says so when it comes."""

    def send(host):
        number = host.puts.put(Put(Remote(1, 0), WORD.pack(7)))
        host.until(lambda: host.puts.completed(number))
        assert host.bus.now > 50 * TURN
        host.quiet()
        host.seen["done"] = True

    hosts = play(send, waits, late=50 * TURN)
    assert hosts[0].puts.failure is None
    assert hosts[1].word(0) == 7


def test_a_run_goes_to_a_window_and_its_flag_arrives_behind_it():
    data = bytes(n * 7 % 253 for n in range(9000))

    def receive(host):
        memory, pinned, address = host.buffer(3 * PAGE_SIZE)
        window = host.puts.window(pinned, address + 100, len(data))
        host.seen["names"] = window.names
        host.until(lambda: host.word(0) == 1)
        host.puts.close_window(window)
        host.seen["got"] = memory.view[100 : 100 + len(data)].tobytes()

    def send(host):
        memory, pinned, address = host.buffer(3 * PAGE_SIZE)
        memory.view[: len(data)] = data
        host.until(lambda: "names" in host.seen)
        host.puts.put_runs(1, host.seen["names"], pinned, [(address, len(data))])
        host.puts.put(Put(Remote(1, 0), WORD.pack(1), flag=True))
        host.until(lambda: "got" in host.seen)
        assert host.puts.failure is None

    hosts = play(send, receive)
    assert hosts[0].seen["got"] == data


def test_runs_of_a_source_go_to_a_window_one_behind_the_other():
    """Far apart, in no order, some in whole words. The peer's flag tells that all are there."""
    runs = [(70 * PAGE_SIZE + 8, 1000), (4, 3000), (PAGE_SIZE, 5000), (69 * PAGE_SIZE, 39), (9, 4321)]
    size = sum(size for _, size in runs)

    def receive(host):
        memory, pinned, address = host.buffer(4 * PAGE_SIZE)
        window = host.puts.window(pinned, address + 100, size)
        host.seen["names"] = window.names
        host.until(lambda: host.word(0) == 1)
        host.seen["got"] = memory.view[100 : 100 + size].tobytes()

    def send(host):
        memory, pinned, address = host.buffer(72 * PAGE_SIZE)
        memory.view[:] = bytes(n * 7 % 253 for n in range(len(memory.view)))
        host.until(lambda: "names" in host.seen)
        host.puts.put_runs(1, host.seen["names"], pinned, [(address + begin, size) for begin, size in runs])
        host.puts.put(Put(Remote(1, 0), WORD.pack(1), flag=True))
        host.until(lambda: "got" in host.seen)
        assert host.puts.failure is None
        host.seen["sent"] = b"".join(memory.view[begin : begin + size] for begin, size in runs)

    hosts = play(send, receive)
    assert hosts[0].seen["got"] == hosts[0].seen["sent"]


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("beyond", ["the heap", "a window", "a window that is closed"])
def test_a_put_outside_what_a_rank_has_registered_is_refused_and_no_flag_follows(beyond, odd):
    """By stores, and by a command where `odd`, but for a window that is closed."""

    def receive(host):
        memory, pinned, address = host.buffer(2 * PAGE_SIZE)
        window = host.puts.window(pinned, address, 64)
        if beyond.endswith("closed"):
            host.puts.close_window(window)
        host.seen["name"] = window.names[0]
        waits(host)
        host.seen["memory"] = bytes(memory.view)

    def send(host):
        host.until(lambda: "name" in host.seen)
        outside = {
            "the heap": Remote(1, host.puts.memory.size - 2 * odd),
            "a window": Remote(1, host.seen["name"] + 64 - 2 * odd, named=True),
            "a window that is closed": Remote(1, host.seen["name"], named=True),
        }[beyond]
        host.puts.put(Put(outside, WORD.pack(9)))
        host.puts.put(Put(Remote(1, 8), WORD.pack(1), flag=True))
        host.until(lambda: host.puts.failure is not None)
        host.seen["done"] = True

    hosts = play(send, receive)
    failure = hosts[0].puts.failure
    assert failure.kind is ErrorKind.NIC_LOST
    by_command = odd and not beyond.endswith("closed")
    assert ("write of 4 bytes at rank 1: " if by_command else "stores at rank 1: ") in failure.text
    assert hosts[1].word(8) == 0
    assert hosts[0].seen["memory"] == bytes(2 * PAGE_SIZE)


def test_no_flag_follows_a_put_to_a_nic_that_is_reset_meanwhile():
    def receive(host):
        host.until(lambda: "begun" in host.seen)
        reset(host.bus)
        waits(host)

    def send(host):
        number = host.puts.put(Put(Remote(1, 0), WORD.pack(1)))
        host.until(lambda: host.puts.completed(number))
        host.seen["begun"] = True
        for n in range(40):
            host.puts.put(Put(Remote(1, 16 + 4 * n), bytes(4000)))
        host.puts.put(Put(Remote(1, 8), WORD.pack(1), flag=True))
        host.until(lambda: host.puts.failure is not None)
        host.seen["done"] = True

    hosts = play(send, receive)
    assert hosts[0].puts.failure.kind is ErrorKind.PEER_FAILED
    assert hosts[1].word(8) == 0


def test_questions_are_answered_behind_the_puts_before_them():
    words = {"swap": (Kind.SWAP, 7), "add": (Kind.ADD, 5), "get": (Kind.GET, 0)}

    def send(host):
        here = host.puts.memory.bus_address
        host.puts.put(Put(Remote(1, 64), WORD.pack(3)))
        for place, (kind, operand) in enumerate(words.values()):
            host.puts.ask(Question(kind, Remote(1, 64), here + 128 + 4 * place, operand=operand))
        host.puts.fence(1, here)
        host.until(lambda: not host.puts.unanswered)
        host.seen["done"] = True

    hosts = play(send, waits)
    assert [hosts[0].word(128 + 4 * n) for n in range(3)] == [3, 7, 12]
    assert hosts[1].word(64) == 12


@pytest.mark.parametrize("size", [3, 8, 1001])
def test_a_get_fetches_all_bytes_and_nothing_beside_them(size):
    data = bytes(n * 7 % 253 for n in range(SIZE))

    def filled(host):
        host.puts.memory.view[:SIZE] = data
        host.seen["filled"] = True
        waits(host)

    def gets(host):
        host.until(lambda: "filled" in host.seen)
        host.puts.ask(Question(Kind.GET, Remote(1, 101), host.puts.memory.bus_address + 64, size))
        host.until(lambda: not host.puts.unanswered)
        host.seen["done"] = True

    hosts = play(gets, filled)
    assert hosts[0].puts.memory.view[63 : 65 + size].tobytes() == b"\0" + data[101 : 101 + size] + b"\0"


def test_windows_are_limited_and_come_back():
    """This rank's own puts need none."""

    def opens(host):
        _, pinned, address = host.buffer(PAGE_SIZE)
        found = []
        while (window := host.puts.window(pinned, address, 8)) is not None:
            found.append(window)
        host.seen["count"] = len(found)
        host.puts.close_window(found.pop())
        assert host.puts.window(pinned, address, 8) is not None
        host.puts.put_runs(1, [64], pinned, [(address, 8)])
        number = host.puts.asked
        host.until(lambda: host.puts.completed(number))
        host.seen["done"] = True

    hosts = play(opens, waits)
    assert hosts[0].seen["count"] >= 1
    assert hosts[0].puts.failure is None


def test_who_leaves_is_not_missed():
    """A put to a rank that has said that it leaves may be refused: nobody needs it."""

    def leaves(host):
        host.puts.close()
        host.seen["left"] = True

    def puts(host):
        host.until(lambda: "left" in host.seen)
        number = host.puts.put(Put(Remote(0, 0), WORD.pack(5)))
        host.until(lambda: host.puts.completed(number))
        host.quiet()
        assert host.puts.failure is None

    hosts = play(leaves, puts)
    assert hosts[0].seen["left"]
