"""NICs as their boot leaves them, kept between runs: a run of the same machine begins there instead
of simulating the boot again.

Simulated time, counters and all that comes after are the same; `lanai run --no-snapshot` boots. A
snapshot is found by a digest of whatever decides the boot, which it also states inside, so that one
of another machine is refused wherever it lies.
"""

import hashlib
import pickle
import shutil
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanai_firmware import cache, cache_entries
from lanai_hdl.errors import UserError
from lanai_host.stacks.base import Attachment

from ..kernel.cluster import Cluster, ClusterBus

KIND = "boot"
MAGIC = b"lanai booted NICs 1\n"
LEVEL = 1  # of zlib: SRAM is zeros for the most part


@dataclass(frozen=True)
class BootedNode:
    """One NIC: what its ranks must know, the clock of the bus that it was booted on, and the memory
    allocated there."""

    attachments: Mapping[int, Attachment]
    clock: int
    memory: tuple[bytes, ...]


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
        """Of NICs that have just been booted on `buses`. None if the engine cannot save its
        state."""
        state = cluster.save()
        if state is None:
            return None
        nodes = [
            BootedNode(found, bus.clock, tuple(map(bytes, bus.allocated())))
            for bus, found in zip(buses, attachments, strict=True)
        ]
        return cls(cluster.kernel.now, state, tuple(nodes))

    def resume(self, cluster: Cluster, buses: list[ClusterBus]) -> None:
        """Give this state to NICs that were never stepped. `buses` are those of `take`, unused."""
        for bus, node in zip(buses, self.nodes, strict=True):
            bus.clock = node.clock
            for content in node.memory:
                bus.allocate(len(content)).view[:] = content
        cluster.restore(self.cluster)


def key(parts: Mapping[str, object]) -> str:
    """Of a boot that `parts` decide. Their values must have a `repr` that says all."""
    return cache.key_of(f"{name}={value!r}" for name, value in sorted(parts.items()))


def load(name: str) -> Booted | None:
    """The snapshot with this key. None if there is none, or it is damaged: a note then says so, and
    the place is free again."""
    path = cache.place(KIND, name)
    if not path.exists():
        return None
    wrong = cache.damage(path)
    if wrong is None:
        cache_entries.mark_used(path)
        try:
            return _decode((path / KIND).read_bytes(), name)
        except (OSError, ValueError) as error:
            wrong = str(error)
    print(
        f"lanai: note: the snapshot of booted NICs {str(path)!r} is refused ({wrong}); the NICs are booted",
        file=sys.stderr,
    )
    shutil.rmtree(path, ignore_errors=True)
    return None


def store(name: str, booted: Booted) -> None:
    """Keep a snapshot for later runs. Of a cache that cannot be written, the other runs boot."""
    try:
        cache.file(KIND, name, KIND, lambda path: _write(path, _encode(booted, name)))
    except UserError:
        return


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _encode(booted: Booted, name: str) -> bytes:
    body = zlib.compress(pickle.dumps(booted), LEVEL)
    return MAGIC + f"{name} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def _decode(content: bytes, name: str) -> Booted:
    """Raises ValueError, which says what is wrong."""
    if not content.startswith(MAGIC):
        raise ValueError(f"it does not begin with {MAGIC!r}")
    head, _, body = content[len(MAGIC) :].partition(b"\n")
    whose, _, digest = head.decode(errors="replace").partition(" ")
    if whose != name:
        raise ValueError(f"it is of another machine or version, {whose[:16]!r}")
    if hashlib.sha256(body).hexdigest() != digest:
        raise ValueError("its content has another digest than it states")
    booted = pickle.loads(zlib.decompress(body))  # ours: only what this version wrote under this key has that digest
    assert isinstance(booted, Booted)
    return booted
