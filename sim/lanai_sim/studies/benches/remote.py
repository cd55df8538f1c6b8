"""Remote memory on the gateware: time of a put, a get, a load and an atomic, and bandwidth, between
two hosts on a switch. With `--mbcf` the paper's tables of its primitives as well, with `--sci` strided
stores, with `--ring` nodes on an SCI ringlet, with `--faulty` wires that lose or reorder packets."""

import argparse
from collections.abc import Sequence
from functools import partial

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic
from lanai_host import process_memory
from lanai_host.bus.base import PAGE_SIZE
from lanai_host.config import HostConfig, free, pentium2_266, supersparc_85
from lanai_host.remote import Access

from ...machine.presets import mbcf_100baset, sci_d330
from ..papers.mbcf import primitives
from ..papers.sci import stores
from ..remote_hosts import RemoteHost, idle, play

NAME = "remote"
HELP = "remote memory: put, get, load, fetch-and-add, bandwidth"

SIZES = (8, 64, 512, 4096)
# One packet of a hundred each, on every wire.
FAULTY = {"drop": "drop * rate=0.01 seed=1", "reorder": "reorder * rate=0.01 seed=1 by=20us"}
LOADED = (4, 64)  # bytes that are read through the aperture, a word at a time
WALKED = 2 << 20  # bytes of an exposure that is walked
EMPTIED = 10_000_000  # picoseconds in which the walker's table is emptied
ROUNDS = 8
MEGABYTE = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stream",
        type=int,
        default=512 * 1024,
        metavar="BYTES",
        help="bytes of a bandwidth run (default: %(default)s)",
    )
    parser.add_argument(
        "--mbcf",
        action="store_true",
        help="also Remote Write and FIFO on hosts and a network like those of MPI/MBCF (its tables 2.1 and 2.2)",
    )
    parser.add_argument(
        "--sci",
        action="store_true",
        help="also strided stores through the aperture of a NIC like that of SCI-MPICH, in MiB/s, with the "
        "processor's write combining and without",
    )
    parser.add_argument(
        "--ring",
        action="store_true",
        help="also puts of all nodes of a ring of 4 to 8 to the next node and to the one before (SCI-MPICH's table 2)",
    )
    parser.add_argument(
        "--faulty",
        action="store_true",
        help="also puts and stores, in order and relaxed, on wires that lose or reorder 1 %% of the packets",
    )


def latency(host: RemoteHost, size: int, get: bool) -> float:
    """Microseconds from the call of a put, or get, to the return of settle."""
    move = host.remote.get if get else host.remote.put
    begin = host.bus.now
    for _ in range(ROUNDS):
        move(host.tokens[1], 0, host.address, size)
        host.remote.settle()
    return (host.bus.now - begin) / ROUNDS / 1e6


def latency_at(host: RemoteHost, address: int, offsets: Sequence[int]) -> float:
    """Microseconds of a put of 8 bytes from this address to one of these offsets, up to the return of
    settle."""
    begin = host.bus.now
    for offset in offsets:
        host.remote.put(host.tokens[1], offset, address, 8)
        host.remote.settle()
    return (host.bus.now - begin) / len(offsets) / 1e6


def add(host: RemoteHost) -> float:
    """Microseconds of a fetch-and-add whose result is waited for."""
    begin = host.bus.now
    for _ in range(ROUNDS):
        host.remote.wait(host.remote.atomic(host.tokens[1], 0, Atomic.ADD, 1))
    return (host.bus.now - begin) / ROUNDS / 1e6


def load(host: RemoteHost, size: int) -> float:
    """Microseconds of loads of so many bytes."""
    begin = host.bus.now
    for _ in range(ROUNDS):
        host.remote.load(host.tokens[1], 0, size)
    return (host.bus.now - begin) / ROUNDS / 1e6


def bandwidth(host: RemoteHost, total: int, get: bool) -> float:
    """Megabytes a second of one long put, or get."""
    move = host.remote.get if get else host.remote.put
    begin, left = host.bus.now, total
    while left:
        size = min(left, host.size)
        move(host.tokens[1], 0, host.address, size)
        left -= size
    host.remote.settle()
    return total / ((host.bus.now - begin) / 1e12) / MEGABYTE


def measure(costs: HostConfig, stream: int) -> dict[str, float]:
    """The figures for hosts whose work costs so much."""

    def program(host: RemoteHost) -> dict[str, float]:
        figures = {"fetch_add_us": add(host)}
        for size in SIZES:
            figures[f"put_{size}_us"] = latency(host, size, get=False)
            figures[f"get_{size}_us"] = latency(host, size, get=True)
        figures["put_mb_per_s"] = bandwidth(host, stream, get=False)
        figures["get_mb_per_s"] = bandwidth(host, stream, get=True)
        return figures

    def loads(host: RemoteHost) -> dict[str, float]:
        load(host, 4)  # maps the page
        return {f"load_{size}_us": load(host, size) for size in LOADED}

    def walked(host: RemoteHost) -> dict[str, float]:
        host.bus.elapse(EMPTIED)
        memory, _ = host.remote.own(1, Access(0))
        host.bus.elapse(EMPTIED)
        address = process_memory.address_of(memory.view)
        miss = latency_at(host, address, [PAGE_SIZE * page for page in range(ROUNDS)])
        hit = latency_at(host, address, [0] * ROUNDS)
        return {"put_8_walked_hit_us": hit, "put_8_walked_miss_us": miss}

    nic, with_aperture = (lanai41().but(blocks=(Remote(streams=streams),)) for streams in (0, 4))
    figures: dict[str, float] = play([program, idle], nic, costs=costs, size=128 * 1024)[0]
    loaded: dict[str, float] = play([loads, idle], with_aperture, costs=costs, size=4096)[0]
    translated: dict[str, float] = play([walked, idle], nic, costs=costs, size=WALKED)[0]
    return figures | loaded | translated


def put_all(host: RemoteHost, total: int, relaxed: bool) -> float:
    """Megabytes a second of puts of as many bytes as the host's memory has."""
    begin, left = host.bus.now, total
    while left > 0:
        host.remote.put(host.tokens[1], 0, host.address, host.size, relaxed=relaxed)
        left -= host.size
    host.remote.settle()
    return total / ((host.bus.now - begin) / 1e12) / MEGABYTE


def store_all(host: RemoteHost, total: int, relaxed: bool) -> float:
    """Megabytes a second of stores to consecutive words, with a barrier behind each run of as many
    bytes as the host's memory has."""
    begin, left, data = host.bus.now, total, bytes(host.size)
    while left > 0:
        host.remote.store(host.tokens[1], 0, data, relaxed=relaxed)
        host.remote.settle()
        left -= host.size
    return total / ((host.bus.now - begin) / 1e12) / MEGABYTE


def faulty(stream: int) -> dict[str, float]:
    """Bandwidth in order and relaxed, on sound wires and on faulty ones, of the NICs alone."""
    nic = lanai41().but(blocks=(Remote(streams=4),))
    figures: dict[str, float] = {}
    for wires, faults in {"sound": [], **{name: [text] for name, text in FAULTY.items()}}.items():
        for what, move in (("put", put_all), ("store", store_all)):
            for order in ("in_order", "relaxed"):
                program = partial(move, total=stream, relaxed=order == "relaxed")
                figures[f"{wires}.{what}_{order}_mb_per_s"] = play([program, idle], nic, faults=faults)[0]
    return figures


def run(args: argparse.Namespace) -> dict[str, float]:
    if args.stream < 1:
        raise SystemExit(f"--stream {args.stream} must be at least 1 byte")
    figures = {f"remote.{name}": value for name, value in measure(pentium2_266(), args.stream).items()}
    free_hosts = measure(free(), args.stream)
    figures |= {f"remote.nic.{name}": value for name, value in free_hosts.items()}
    if args.mbcf:
        theirs = primitives.figures(supersparc_85(), mbcf_100baset())
        figures |= {f"remote.mbcf.{name}": value for name, value in theirs.items()}
    if args.sci:
        figures |= {f"remote.sci.{name}": value for name, value in stores.store_figures(sci_d330()).items()}
    if args.faulty:
        figures |= {f"remote.{name}": value for name, value in faulty(args.stream).items()}
    if args.ring:
        figures |= {f"remote.sci.{name}": value for name, value in stores.ring_figures().items()}
    return figures
