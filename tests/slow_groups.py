"""The slow tests in groups: `pytest -m GROUP` runs one of them, `pytest --markers` lists them."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

BENCHES = ("bench", "proof")  # markers of a group that .ci/run runs too
CI = "ci"  # marker of the other one
BY_HAND = "by_hand"  # of a test that neither of them has
INSTANCES = 1  # of one test that .ci/run runs, so that it ends within 45 minutes
TRAFFIC = "host/traffic"
SEEDS = 20  # of random traffic in a part
PARTS = 5


@dataclass(frozen=True)
class Group:
    """A group of slow tests: what they prove, and where they are: files and folders in tests/, without
    those that another group names below them."""

    proves: str
    places: tuple[str, ...] = ()


GROUPS = {
    "slow_benches": Group(
        "the blocks, the chip and the switch under cocotb and in Amaranth's simulator; formal proofs"
    ),
    "slow_ci": Group(
        "more instances of what the default run tests, and what takes it longest: more seeds and orders, "
        "limits of real time, damaged caches, the serial line, the area of the NIC on a board; "
        "the corpus of `lanai check`; starting code and typical mistakes of the labs"
    ),
    "slow_gateware": Group(
        "engines, buses and two whole NICs give the same results in Amaranth's simulator, under cocotb and "
        "Verilated, with the domain reset and without; queues of every size; nonsense and reset; the tops of boards; "
        "a million random instructions against the golden model; synthesis, place and route",
        (
            "hdl",
            "host/bus",
            "host/two_nodes",
            "sim/corebench",
            "sim/engines",
            "sim/fpga",
            "sim/job/test_run_nic.py",
        ),
    ),
    "slow_firmware": Group(
        "a thousand generated programs agree as Python, natively, on the golden model and on the gateware; the "
        "firmware in many orders of events; random bytes from the host trespass nowhere",
        (
            "firmware",
            "sim/corebench/test_firmware_ways.py",
        ),
    ),
    "slow_faults": Group(
        "nothing is lost, doubled or out of order on bad wires, for long: mpi-np, ccu, t3d and the remote-memory "
        "adapter; ranks that die while messages are under way",
        (
            "firmware/programs/ccu",
            "firmware/programs/mpi_np/test_recovery.py",
            "host/adapter",
            "host/stacks",
            "sim/job",
        ),
    ),
    "slow_mpi": Group(
        "C programs on the gateware; wrong arguments get MPICH's answers; messages of nothing and of more than "
        "two gigabytes, ten thousand requests at once",
        ("host",),
    ),
    "slow_conformance": Group(
        "mpi4py's own test suite, on `ideal` and chapter by chapter on the gateware",
        ("sim/studies/conform/test_conform.py",),
    ),
    "slow_studies": Group(
        "benches, sweeps and the paper's figures are those on record; traces of long runs; the report in a browser",
        ("sim", "sim/job/tracing"),
    ),
    **{
        f"slow_traffic_{part + 1}": Group(
            f"random MPI traffic on NICs is what it is on real MPICH, seeds {part * SEEDS + 1} to {(part + 1) * SEEDS}"
        )
        for part in range(PARTS)
    },
}


def group_of(place: str, markers: Collection[str], seed: int | None = None) -> str:
    """The group of a slow test in the file `place` of tests/. `seed`: of a test of random traffic.

    Raises ValueError if it belongs to no group or to several.
    """
    if BY_HAND not in markers:
        if any(marker in BENCHES for marker in markers):
            return "slow_benches"
        if CI in markers:
            return "slow_ci"
    if _within(place, TRAFFIC) and seed is not None and 1 <= seed <= SEEDS * PARTS:
        return f"slow_traffic_{(seed - 1) // SEEDS + 1}"
    named = [(len(known), name) for name, group in GROUPS.items() for known in group.places if _within(place, known)]
    found = [name for length, name in named if length == max(named)[0]]
    if len(found) != 1:
        raise ValueError(
            f"the slow tests of tests/{place} belong to {len(found)} groups {found}; "
            "name the file in exactly one group of tests/slow_groups.py"
        )
    return found[0]


def left_to_hand(tests: Sequence[Hashable]) -> set[int]:
    """The places of those instances that .ci/run leaves out, given the test of each. It runs `INSTANCES` of each test,
    the first of them and others at equal distances."""
    places: dict[Hashable, list[int]] = {}
    for place, test in enumerate(tests):
        places.setdefault(test, []).append(place)
    out = set()
    for found in places.values():
        taken = {index * len(found) // INSTANCES for index in range(INSTANCES)}
        out.update(place for index, place in enumerate(found) if len(found) > INSTANCES and index not in taken)
    return out


def _within(place: str, known: str) -> bool:
    return place == known or place.startswith(f"{known}/")
