"""The code gives what is on record: short experiments of each paper, and of longer ones a cell."""

import pytest

from lanai_host.config import pentium3_800
from lanai_sim.machine.presets import sci_d330
from lanai_sim.studies.benches.p2p import traffic
from lanai_sim.studies.papers import claims, records, studies
from lanai_sim.studies.papers.ccu import experiments as ccu
from lanai_sim.studies.papers.mbcf import experiments as mbcf
from lanai_sim.studies.papers.mpi_np.host_work import thesis
from lanai_sim.studies.papers.sci import experiments as sci
from lanai_sim.studies.papers.sci import stores
from lanai_sim.studies.papers.t3d import study as t3d
from lanai_sim.studies.remote_hosts import idle, play

CHEAP = {
    "t3d": ("latency", "alignment", "validation"),
    "ccu": ("bitonic",),
    "mbcf": ("primitives", "kernels"),
    "mpi-np": ("slowdown", "transfers", "break-down"),
    "sci": ("raw",),
}  # a quick run of "kernels" has one of them, and all others are whole
COUNT = 10  # figures of a paper at least


def messages(what, program, fabric, arguments):
    """MPI of mbcf, tables 4.1 and 4.2: the first sizes, by write and by FIFO."""
    found = {}
    for name, requests in (("sr", True), ("nsr", False)):
        rates = mbcf.measure(mbcf.theirs(fabric), requests, program, arguments)
        found |= {f"theirs.{what}.{name}.{size}": value for size, value in rates.items()}
    return found


def store():
    costs, size = pentium3_800(), 2 * stores.MAPPED
    rate, _ = play([lambda host: stores.strided(host, 8, 8), idle], sci_d330(), size=size, costs=costs)
    return {"aperture.combined.store.8.8_mibps": rate}


def ring():
    """Table 2 with 4 nodes, without MPI and by MPI."""
    ends = {"min": stores.NEXT, "max": stores.BEFORE}
    raw = {name: stores.mean(stores.rates(sci_d330(), 4, partner)) for name, partner in ends.items()}
    return {f"table_2.ring.4.{name}_use_mibps": rate for name, rate in raw.items()} | {
        "ring.least.4": sci.on_ring(4, 1)
    }


def blocks():
    rates = sci.THEIRS.lines("noncontig", sci.TOTAL, sci.commas((0, 8)))
    return {"theirs.noncontig.contiguous": rates["0"], "theirs.noncontig.direct.8": rates["8"]}


def policies():
    """MPI-NP by the thesis's policies: what two rules of its hosts cost 4 bytes, and one path for all messages."""
    base = thesis()
    rules = {
        "rules.empty": base,
        "rules.semaphore": base.but(host=base.host.but(semaphore=True)),
        "general.thesis": base.but(mcp=base.mcp.but(quick=0)),
    }
    trips = {name: traffic.trips(chosen, (4,), 1)[4].one_way for name, chosen in rules.items()}
    return {f"{name}.{'trip' if 'rules' in name else 'latency'}_us.4": time for name, time in trips.items()}


def stores_and_fetches():
    """The T3D's shell: the first sizes of messages, of puts and of gets."""
    found = {f"latency_us.{size}": time for size, time in t3d.half_trips((0, 32)).items()}
    moved = t3d.RUNS.lines("remote_memory", "4,2048")
    return found | {f"{name.replace(' ', '_us.')}": time for name, time in moved.items()}


CELLS = {
    "mpi-np.policies": policies,
    "t3d.shell": stores_and_fetches,
    "mbcf.round_trip": lambda: messages("rtt", mbcf.ROUND_TRIP, "hub", (24, *mbcf.ROUND_TRIP_SIZES[:2])),
    "mbcf.full_duplex": lambda: messages("bandwidth", mbcf.BANDWIDTH, "switching-hub", (131_072, 4)),
    "mbcf.half_duplex": lambda: messages("half_duplex", mbcf.BANDWIDTH, "csma", (131_072, 4)),
    "sci.aperture": store,
    "sci.table_2": ring,
    "sci.noncontig": blocks,
    "ccu.pingpong": lambda: ccu.compared("pingpong", 2, ccu.SIZES[:2]),
}


def record_of(paper):
    return records.read(studies.find(paper).record, paper)


def compare(paper, found):
    recorded = record_of(paper).figures
    assert {name: recorded[name] for name in found} == pytest.approx(found, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("paper", CHEAP)
def test_the_code_gives_the_record(paper):
    module, found, quick = studies.find(paper).experiments.__name__, {}, record_of(paper).quick
    for name in CHEAP[paper]:
        found |= claims.run(module, {}, {"experiment": name, "quick": quick or name == "kernels"})
    assert len(found) >= COUNT
    compare(paper, found)


@pytest.mark.ci(whole=True)
@pytest.mark.parametrize(
    "cell", [pytest.param(cell, marks=pytest.mark.by_hand) if cell == "sci.table_2" else cell for cell in CELLS]
)
def test_the_code_gives_cells_of_the_record(cell):
    found = CELLS[cell]()
    assert found
    compare(cell.partition(".")[0], found)
