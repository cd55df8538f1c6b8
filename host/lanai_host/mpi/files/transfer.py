"""One process's part of an access: a buffer in memory, and the bytes of the file that it stands
for."""

import ctypes

from ...config import HostCost
from ..arguments import check_buffer
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import Scratch
from .file import File
from .view import Runs


class Buffer:
    """The buffer of an access, checked before anything is done. `size`: bytes of the stream;
    `units`: etypes."""

    def __init__(self, file: File, call: str, address: int, count: int, datatype: Datatype) -> None:
        check_buffer(call, address, count, datatype)
        self.call = call
        self.address, self.count, self.datatype = address, count, datatype
        self.representation = file.view.representation
        self.size = self.representation.size(count, datatype)
        unit = file.view.unit.size
        self.units, rest = divmod(self.size, unit)
        if rest:
            raise MpiError(
                ErrorClass.IO,
                f"{call}: {count} elements of {datatype.size} bytes are not a whole number of etypes of {unit} bytes",
            )

    @property
    def direct(self) -> bool:
        """The memory holds the bytes of the file as they are."""
        return self.datatype.dense and not self.representation.converts

    def stream(self) -> memoryview:
        """The bytes to be written, in the user's memory where they are as in the file, else in a
        copy."""
        if self.direct:
            return memory_at(self.address + self.datatype.true_lb, self.size)
        scratch = Scratch(self.size)
        if self.size:
            self.representation.encode(self.address, self.count, self.datatype, scratch.address)
        return scratch.view[: self.size]

    def empty(self) -> memoryview:
        """Room for the bytes to be read."""
        if self.direct:
            return memory_at(self.address + self.datatype.true_lb, self.size)
        return Scratch(self.size).view[: self.size]

    def deliver(self, read: memoryview, size: int, apart: bool = False) -> int:
        """Put the first `size` bytes that were read into the buffer; how many bytes of data it now
        has. `apart`: they were not read into `empty()`."""
        if self.direct:
            if apart:
                self.empty()[:size] = read[:size]
            return size
        if not size:
            return 0
        source = ctypes.addressof(ctypes.c_char.from_buffer(read))
        return self.representation.decode(source, size, self.address, self.count, self.datatype)


def memory_at(address: int, size: int) -> memoryview:
    """Memory by address. What is not mapped is refused by the kernel when a system call uses it."""
    if not size:
        return memoryview(bytearray())
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def runs_of(file: File, buffer: Buffer, position: int, writing: bool) -> Runs:
    """The bytes of the file, for an access that begins at `position` etypes."""
    runs = file.view.runs(position * file.view.unit.size, buffer.size)
    if writing and buffer.size and not len(runs.offsets):
        raise MpiError(ErrorClass.IO, f"{buffer.call}: the filetype of the view of {file.name!r} has no data")
    return runs


def write_runs(file: File, buffer: Buffer, runs: Runs) -> int:
    """Write by this process's own system calls; bytes of data."""
    data = buffer.stream()
    _pay_copy(file, buffer)
    done = 0
    for offset, length in zip(runs.offsets.tolist(), runs.lengths.tolist(), strict=True):
        file.disk.write(buffer.call, data[done : done + length], offset)
        done += length
    return buffer.count * buffer.datatype.size


def read_runs(file: File, buffer: Buffer, runs: Runs) -> int:
    """Read by this process's own system calls, up to the end of the file; bytes of data."""
    into = buffer.empty()
    done = 0
    for offset, length in zip(runs.offsets.tolist(), runs.lengths.tolist(), strict=True):
        step = file.disk.read(buffer.call, into[done : done + length], offset)
        done += step
        if step < length:
            break
    _pay_copy(file, buffer)
    return buffer.deliver(into, done)


def _pay_copy(file: File, buffer: Buffer) -> None:
    if not buffer.direct:
        file.comm.device.charge(HostCost.COPY, buffer.size)
