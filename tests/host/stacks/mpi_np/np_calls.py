"""Short spellings of device calls for tests: bytes in, bytes out."""

import ctypes

from lanai_host.body import Run
from lanai_host.device import SendMode
from lanai_host.operation import Wait

STANDARD, SYNCHRONOUS, READY = SendMode.STANDARD, SendMode.SYNCHRONOUS, SendMode.READY


class Buffer:
    """Memory with an address, kept alive by its owner."""

    def __init__(self, data, offset=0):
        size = data if isinstance(data, int) else len(data)
        self.size = size
        self.memory = ctypes.create_string_buffer(size + 8192 + 1)
        base = ctypes.addressof(self.memory)
        self.address = (base + 4095) // 4096 * 4096 + offset
        if not isinstance(data, int):
            ctypes.memmove(self.address, data, size)

    @property
    def body(self):
        return Run(self.address, self.size)

    @property
    def data(self):
        return ctypes.string_at(self.address, self.size)


def pattern(size, seed=0):
    return bytes((i * 7 + seed * 31 + (i >> 8)) & 0xFF for i in range(size))


def isend(device, dest, data, tag=0, context=0, mode=STANDARD, offset=0):
    buffer = Buffer(data, offset)
    operation = device.send(dest, tag, context, buffer.body, mode)
    return operation, buffer


def irecv(device, source, size, tag=0, context=0, offset=0):
    buffer = Buffer(size, offset)
    return device.receive(source, tag, context, buffer.body), buffer


def wait(device, *pairs):
    for operation, _ in pairs:
        while not operation.done:
            device.wait([operation], Wait("test", note=f"rank {device.rank}"))


def send(device, dest, data, **options):
    pair = isend(device, dest, data, **options)
    wait(device, pair)
    assert pair[0].error is None, pair[0].error


def recv(device, source, size, **options):
    pair = irecv(device, source, size, **options)
    wait(device, pair)
    return pair[0], pair[1].data
