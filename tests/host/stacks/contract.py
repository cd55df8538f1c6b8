"""The contract of every `Device`. A test class inherits these cases and says how two ranks get their devices.

A case is a function of one rank's device. Both ranks run it at once. It leaves nothing under way, so that several cases
may follow each other on the same devices.
"""

import ctypes
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable

from lanai_host.body import NOTHING, Run
from lanai_host.device import SendMode
from lanai_host.operation import ANY_SOURCE, ANY_TAG, DeviceError, ErrorKind, Wait

CONTEXT = 5
SIZES = (0, 1, 16, 1025, 5000)
WHY = Wait("contract")
CASES: dict[str, Callable] = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Memory:
    """Bytes at an address, and the `body` that a device is given."""

    def __init__(self, data):
        self._store = ctypes.create_string_buffer(bytes(data), len(data)) if data else None
        self.body = Run(ctypes.addressof(self._store), len(data)) if data else NOTHING

    @property
    def data(self):
        return self._store.raw if self._store else b""


def pattern(size, number=0):
    return bytes((7 * n + 31 * number + 1) % 251 for n in range(size))


def finish(device, *operations):
    while not all(operation.done for operation in operations):
        device.wait([operation for operation in operations if not operation.done], WHY)
    return operations[0]


def send(device, data, tag, dest=None, context=CONTEXT, mode=SendMode.STANDARD):
    """Start a send to the other rank. The operation keeps its memory."""
    memory = Memory(data)
    operation = device.send(1 - device.rank if dest is None else dest, tag, context, memory.body, mode)
    if not operation.done:
        operation.keep = memory
    return operation


def receive(device, size, tag, source=None, context=CONTEXT):
    """Start a receive from the other rank. Returns (operation, memory)."""
    memory = Memory(bytes(size))
    operation = device.receive(1 - device.rank if source is None else source, tag, context, memory.body)
    if not operation.done:
        operation.keep = memory
    return operation, memory


def signal(device, tag):
    finish(device, send(device, b"!", tag))


def await_signal(device, tag):
    finish(device, receive(device, 1, tag)[0])


def probe(device, tag, *, take, source=ANY_SOURCE):
    while (found := device.probe(source, tag, CONTEXT, take)) is None:
        device.wait(None, WHY)
    return found


@case
def messages_of_all_sizes_arrive_in_posted_receives(device):
    posted = [receive(device, size, 1) for size in SIZES]
    sends = [send(device, pattern(size, device.rank), 1) for size in SIZES]
    finish(device, *sends, *(operation for operation, _ in posted))
    for (operation, memory), size in zip(posted, SIZES, strict=True):
        assert (operation.source, operation.tag, operation.length) == (1 - device.rank, 1, size)
        assert operation.error is None
        assert memory.data == pattern(size, 1 - device.rank)


@case
def messages_wait_for_their_receives_in_order(device):
    sends = [send(device, pattern(size, n), 2) for n, size in enumerate(SIZES)]
    signal(device, 3)
    await_signal(device, 3)
    for n, size in enumerate(SIZES):
        operation, memory = receive(device, 6000, 2)
        finish(device, operation)
        assert (operation.length, memory.data[:size]) == (size, pattern(size, n))
    finish(device, *sends)


@case
def tags_and_contexts_keep_messages_apart(device):
    kinds = [(4, CONTEXT), (5, CONTEXT), (4, CONTEXT + 2)]
    sends = [send(device, bytes([n]), tag, context=context) for n, (tag, context) in enumerate(kinds)]
    for n, (tag, context) in reversed(list(enumerate(kinds))):
        operation, memory = receive(device, 1, tag, context=context)
        finish(device, operation)
        assert memory.data == bytes([n])
    finish(device, *sends)


@case
def a_wildcard_takes_the_oldest_message_and_names_it(device):
    sends = [send(device, bytes([n]), 10 + n) for n in range(3)]
    signal(device, 9)
    await_signal(device, 9)
    for n in range(3):
        operation, memory = receive(device, 1, ANY_TAG, ANY_SOURCE)
        finish(device, operation)
        assert (operation.source, operation.tag, memory.data) == (1 - device.rank, 10 + n, bytes([n]))
    finish(device, *sends)


@case
def a_posted_wildcard_takes_one_message(device):
    operation, memory = receive(device, 1, 20, ANY_SOURCE)
    sends = [send(device, bytes([n]), 20) for n in range(2)]
    finish(device, operation)
    second, rest = receive(device, 1, 20)
    finish(device, second, *sends)
    assert (memory.data, rest.data) == (b"\0", b"\1")


@case
def a_message_longer_than_its_receive_is_truncated(device):
    for size in (100, 5000):
        sent = send(device, pattern(size), 21)
        operation, memory = receive(device, size - 30, 21)
        finish(device, operation, sent)
        assert operation.error == DeviceError(ErrorKind.TRUNCATED, f"(it has {size} bytes)")
        assert (operation.length, memory.data) == (size - 30, pattern(size)[: size - 30])
        assert sent.error is None


@case
def a_synchronous_send_ends_when_a_receive_has_its_message(device):
    if device.rank == 0:
        for size in (4, 5000):
            sent = send(device, pattern(size), 22, mode=SendMode.SYNCHRONOUS)
            await_signal(device, 23)
            device.progress()
            assert not sent.done
            signal(device, 24)
            finish(device, sent)
            assert sent.error is None
    else:
        for size in (4, 5000):
            signal(device, 23)
            await_signal(device, 24)
            operation, memory = receive(device, size, 22)
            finish(device, operation)
            assert memory.data == pattern(size)


@case
def a_probe_finds_a_message_and_leaves_it(device):
    assert device.probe(ANY_SOURCE, 25, CONTEXT, False) is None
    await_both(device)
    sent = send(device, pattern(700), 25)
    found = probe(device, 25, take=False)
    assert (found.source, found.tag, found.length) == (1 - device.rank, 25, 700)
    operation, memory = receive(device, 700, 25)
    finish(device, operation, sent)
    assert memory.data == pattern(700)


@case
def a_matched_probe_takes_the_message_from_other_receives(device):
    sends = [send(device, pattern(3000, n), 26) for n in range(2)]
    taken = probe(device, 26, take=True)
    operation, memory = receive(device, 3000, 26)
    finish(device, operation)
    first = Memory(bytes(3000))
    matched = device.receive_taken(taken, first.body)
    finish(device, matched, *sends)
    assert (first.data, memory.data) == (pattern(3000, 0), pattern(3000, 1))


@case
def a_cancelled_receive_takes_nothing(device):
    cancelled, _ = receive(device, 10, 27)
    assert device.cancel(cancelled)
    assert cancelled.done
    assert cancelled.cancelled
    await_both(device)
    sent = send(device, b"later", 27)
    operation, memory = receive(device, 5, 27)
    finish(device, operation, sent)
    assert memory.data == b"later"
    assert not device.cancel(operation), "it was done"
    assert not operation.cancelled


@case
def a_rank_sends_to_itself(device):
    for size in (3, 5000):
        operation, memory = receive(device, size, 28, device.rank)
        sent = send(device, pattern(size), 28, device.rank)
        finish(device, operation, sent)
        assert (operation.source, memory.data) == (device.rank, pattern(size))


@case
def time_never_runs_back(device):
    before = device.now()
    await_both(device)
    assert device.now() >= before


def await_both(device):
    """Both ranks have come here."""
    sent = send(device, b"!", 30)
    await_signal(device, 30)
    finish(device, sent)


class DeviceContract(ABC):
    """Inherit it, and say how `case(device)` runs on both of two ranks."""

    @abstractmethod
    def run(self, case): ...

    def __init_subclass__(cls):
        for name, function in CASES.items():
            setattr(cls, f"test_{name}", lambda self, function=function: self.run(function))


def main():
    """Both ranks of a `lanai run`: all cases, one after the other. Prints the name of each that
    holds."""
    from lanai_host.connect import device_over
    from lanai_host.simulator.client import SimulatorClient

    client = SimulatorClient.from_environment()
    device = device_over(client)
    for name, function in CASES.items():
        function(device)
        print(name, flush=True)
    device.close()
    client.finalize(device.placement)


if __name__ == "__main__":
    sys.exit(main())
