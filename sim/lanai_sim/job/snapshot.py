"""NICs as their boot leaves them, kept between runs: a run of the same machine begins there instead
of simulating the boot again. They are entries of the cache: a line of JSON and bytes, so that reading one
runs no code.

Simulated time, counters and all that comes after are the same; `lanai run --no-snapshot` boots. A
snapshot is found by a digest of whatever decides the boot, which it also states inside, so that one
of another machine is refused wherever it lies.
"""

import io
import json
import shutil
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lanai_firmware import cache
from lanai_firmware.cache import Key
from lanai_hdl import cache_entries
from lanai_hdl.errors import UserError
from lanai_hdl.machine import PAGE_SIZE
from lanai_host.plain import restored
from lanai_host.stacks.attachment import Attachment

from ..kernel.cluster import Cluster, ClusterBus

KIND = "boot"
FORMAT = 3
LEVEL = 1  # of zlib: SRAM is zeros for the most part
ZEROS = bytes(PAGE_SIZE)


@dataclass(frozen=True)
class Sparse:
    """Memory of `size` bytes, of which it has the pages that are not zeros, by number. The boot leaves most pages of a
    NIC's host memory as they were."""

    size: int
    pages: Mapping[int, bytes]

    @classmethod
    def of(cls, memory: memoryview) -> "Sparse":
        content = ((at // PAGE_SIZE, bytes(memory[at : at + PAGE_SIZE])) for at in range(0, len(memory), PAGE_SIZE))
        return cls(len(memory), {number: page for number, page in content if page != ZEROS[: len(page)]})

    def write(self, memory: memoryview) -> None:
        """Write it to memory that is zeros."""
        for number, page in self.pages.items():
            memory[number * PAGE_SIZE : number * PAGE_SIZE + len(page)] = page


@dataclass(frozen=True)
class BootedNode:
    """One NIC: what its ranks must know, the clock of the bus that it was booted on, and the memory
    allocated there."""

    attachments: Mapping[int, Attachment]
    clock: int
    memory: tuple[Sparse, ...]


@dataclass(frozen=True)
class Booted:
    """All NICs after their boot. `cluster` is `Cluster.save`."""

    now: int
    cluster: bytes
    nodes: tuple[BootedNode, ...]

    @classmethod
    def take(
        cls, cluster: Cluster, buses: list[ClusterBus], attachments: list[Mapping[int, Attachment]]
    ) -> "Booted | None":
        """Return a snapshot of NICs that have just been booted on `buses`. None if the engine cannot save its state."""
        state = cluster.save()
        if state is None:
            return None
        nodes = [
            BootedNode(found, bus.clock, tuple(map(Sparse.of, bus.allocated())))
            for bus, found in zip(buses, attachments, strict=True)
        ]
        return cls(cluster.kernel.now, state, tuple(nodes))

    def resume(self, cluster: Cluster, buses: list[ClusterBus]) -> None:
        """Give this state to NICs that were never stepped. `buses` are those of `take`, or of some nodes, unused."""
        for bus in buses:
            node = self.nodes[bus.node.number]
            bus.clock = node.clock
            for content in node.memory:
                content.write(bus.allocate(content.size).view)
        cluster.restore(self.cluster)


def key(parts: Mapping[str, object]) -> Key:
    """Return the key of a boot that `parts` decide. Their values must have a `repr` that says all."""
    return Key(cache.key_of(f"{name}={value!r}" for name, value in sorted(parts.items())))


def load(key: Key, attachment: type[Attachment]) -> Booted | None:
    """Return the snapshot with this key. None if there is none, or it is damaged: a note then says so, and
    the place is free again. `attachment`: the class of what ranks must know."""
    path = cache.shipped(KIND, key) or cache.where(KIND, key)
    if not path.exists():
        return None
    wrong = cache.damage(path)
    if wrong is None:
        cache_entries.mark_used(path)
        try:
            return _decode((path / KIND).read_bytes(), key.made_of, attachment)
        except (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError, zlib.error) as error:
            wrong = str(error)
    print(
        f"lanai: note: the snapshot of booted NICs {str(path)!r} is refused ({wrong}); the NICs are booted",
        file=sys.stderr,
    )
    shutil.rmtree(path, ignore_errors=True)
    return None


def store(key: Key, booted: Booted) -> None:
    """Keep a snapshot for later runs. If the cache cannot be written, later runs boot."""
    try:
        cache.file(KIND, key, KIND, lambda path: _write(path, _encode(booted, key.made_of)))
    except UserError:
        return


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _encode(booted: Booted, name: str) -> bytes:
    """A line of JSON, then the memories, which it has the sizes and the numbers of pages of."""
    head = {
        "format": FORMAT,
        "key": name,
        "now": booted.now,
        "size": len(booted.cluster),
        "nodes": [
            {
                "clock": node.clock,
                "attachments": {rank: asdict(one) for rank, one in node.attachments.items()},
                "memory": [[content.size, *content.pages] for content in node.memory],
            }
            for node in booted.nodes
        ],
    }
    pages = [page for node in booted.nodes for content in node.memory for page in content.pages.values()]
    memory = b"".join([booted.cluster, *pages])
    return json.dumps(head).encode() + b"\n" + zlib.compress(memory, LEVEL)


def _decode(content: bytes, name: str, attachment: type[Attachment]) -> Booted:
    """Raises an error that says what is wrong."""
    line, _, packed = content.partition(b"\n")
    head = json.loads(line)
    if head["format"] != FORMAT:
        raise ValueError(f"its format is {head['format']}, not {FORMAT}")
    if head["key"] != name:
        raise ValueError(f"it is of another machine or version, {head['key'][:16]!r}")
    memory = io.BytesIO(zlib.decompress(packed))
    cluster = memory.read(int(head["size"]))
    nodes = [
        BootedNode(
            {int(rank): restored(attachment, one) for rank, one in node["attachments"].items()},
            node["clock"],
            tuple(_read(memory, size, numbers) for size, *numbers in node["memory"]),
        )
        for node in head["nodes"]
    ]
    return Booted(head["now"], cluster, tuple(nodes))


def _read(file: io.BytesIO, size: int, numbers: Sequence[int]) -> Sparse:
    """The pages with these numbers, one behind the other."""
    return Sparse(size, {number: file.read(min(PAGE_SIZE, size - number * PAGE_SIZE)) for number in numbers})
