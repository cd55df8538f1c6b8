"""NICs that begin as an earlier boot left them are those that were booted."""

import os
import re
import shutil
import sys
from dataclasses import replace

import pytest
from pairs import first_of

from lanai_firmware import cache
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.cache_entries import digests
from lanai_hdl.machine import PAGE_SIZE
from lanai_host.stacks.mpi_np.driver import Attachment
from lanai_sim.engines.base import Access
from lanai_sim.job import snapshot
from lanai_sim.job.data import WaveConfig
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.kernel.kernel import Kernel, TimeLimit
from lanai_sim.machine.machine import Machine
from openlanai import Job

EXCHANGE = """
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
mine, other = memoryview(mmap.mmap(-1, 4096)), memoryview(mmap.mmap(-1, 4096))
for peer in range(world.size):
    world.Sendrecv(mine, peer ^ world.rank, 1, other, peer ^ world.rank, 1) if peer ^ world.rank < world.size else None
world.Barrier()
"""
PAIR = Job((sys.executable, "-c", EXCHANGE), 2, "mpi-np")
CONFIGS = {
    "pair": PAIR,
    "every slot": replace(PAIR, skip=False),
    "switches, memory of the host": replace(PAIR, ranks=6, options=McpConfig(resident=2)),
    "two ranks a NIC": replace(PAIR, ranks=4, ranks_per_node=2),
}


@pytest.fixture(autouse=True)
def own_snapshots(monkeypatch):
    """Snapshots of this test alone, beside the models that all share."""
    kind = f"boot-of-a-test-{os.getpid()}"
    monkeypatch.setattr(snapshot, "KIND", kind)
    yield cache.directory() / kind
    shutil.rmtree(cache.directory() / kind, ignore_errors=True)


def world(config):
    made = NicWorld(config, Kernel())
    made.kernel.limit = config.max_sim_time
    made.boot()
    return made


def entries(place):
    return sorted(place.glob("*/*/")) if place.exists() else []


def finish(config):
    result = config.run()
    assert (result.code, result.report) == (0, "")
    figures = result.summary.figures()
    del figures["run.nic_cycles_evaluated"]  # a choice of the engine, which a cut of the run may change
    return result.clocks, result.sim_time, figures


def busy(made, slots):
    """Step a world's NICs with accesses to their SRAM under way; all state after every step."""
    engine = made.engine
    begin = max(made.cluster.slots())
    states = []
    for slot in range(begin, begin + slots, 500):
        for nic in range(len(made.cluster.nodes)):
            engine.pio(
                nic, [Access(slot + 2 * i, i % 2 == 0, 0x40000 + 4 * i, slot * i & 0xFFFFFFFF) for i in range(8)]
            )
        while engine.run(slot + 500)[1]:  # it stops at each answer
            pass
        states.append(engine.save())
    return states


@pytest.mark.parametrize("name", first_of(*CONFIGS))
def test_all_state_is_that_of_a_boot_and_goes_on_as_it_does(own_snapshots, name):
    config = CONFIGS[name]
    booted, again = world(config), world(config)
    other = world(replace(config, snapshot=False))
    try:
        assert len(entries(own_snapshots)) == 1
        assert again.engine.entries == 0, "it was booted"
        assert other.engine.entries == booted.engine.entries > 100
        for made in (again, other):
            assert made.started == booted.started
            assert made.attachments == booted.attachments
            assert made.cluster.save() == booted.cluster.save()
            assert [bus.clock for bus in made.buses] == [bus.clock for bus in booted.buses]
            assert [list(map(bytes, bus.allocated())) for bus in made.buses] == [
                list(map(bytes, bus.allocated())) for bus in booted.buses
            ]
        states = busy(again, 4000)
        assert None not in states
        assert len(set(states)) == len(states)
        assert states == busy(other, 4000)
    finally:
        for made in (booted, again, other):
            made.close()


@pytest.mark.parametrize("name", first_of(*CONFIGS))
def test_a_run_takes_the_same_time_and_counts_the_same(name):
    first, second = finish(CONFIGS[name]), finish(CONFIGS[name])
    assert first == second == finish(replace(CONFIGS[name], snapshot=False))


def test_zeros_of_the_memory_are_left_out():
    made = world(PAIR)
    try:
        assert len(made.cluster.save()) < made.config.machine.nic.sram_size
    finally:
        made.close()


def spoil_end(path):
    content = (path / snapshot.KIND).read_bytes()
    (path / snapshot.KIND).write_bytes(content[: len(content) // 2])


def spoil_list(path):
    (path / cache.DIGESTS).unlink()


def another_version(path):
    (path / snapshot.KIND).write_bytes(b'{"format": 1}\n')
    seal(path)


def another_machine(path):
    content = (path / snapshot.KIND).read_bytes()
    (path / snapshot.KIND).write_bytes(content.replace(path.name.encode(), b"0" * len(path.name)))
    seal(path)


def huge(path):
    content = (path / snapshot.KIND).read_bytes()
    (path / snapshot.KIND).write_bytes(re.sub(rb'"size": \d+', b'"size": 1e30', content, count=1))
    seal(path)


def deep(path):
    (path / snapshot.KIND).write_bytes(b"[" * 100_000)
    seal(path)


def seal(path):
    """A list of digests that says all is well."""
    (path / cache.DIGESTS).unlink()
    (path / cache.DIGESTS).write_text(digests(path))


@pytest.mark.parametrize(
    ("spoil", "words"),
    first_of(
        (spoil_end, "has another content than was written"),
        (spoil_list, "DIGESTS is missing"),
        (another_version, f"its format is 1, not {snapshot.FORMAT}"),
        (huge, "cannot fit"),
        (deep, "recursion"),
        (another_machine, "of another machine or version, '0000000000000000'"),
    ),
)
def test_a_snapshot_that_is_not_whole_or_not_ours_is_refused_and_made_again(own_snapshots, capfd, spoil, words):
    good = world(PAIR)
    [path] = entries(own_snapshots)
    content = (path / snapshot.KIND).read_bytes()
    assert capfd.readouterr().err == ""
    spoil(path)
    again = world(PAIR)
    try:
        [line] = capfd.readouterr().err.splitlines()
        assert line.startswith(f"lanai: note: the snapshot of booted NICs {str(path)!r} is refused (")
        assert words in line
        assert again.cluster.save() == good.cluster.save()
        assert entries(own_snapshots) == [path]
        assert (path / snapshot.KIND).read_bytes() == content
    finally:
        good.close()
        again.close()


@pytest.mark.parametrize(
    "change",
    [
        {"snapshot": False},
        {"machine": Machine(faults=["drop nic0 packet=9"])},
        pytest.param({"wave": WaveConfig("a.vcd")}, marks=pytest.mark.slow),  # a model of its own
        {"inputs": True},
    ],
)
def test_what_looks_at_the_boot_or_disturbs_it_sees_one(own_snapshots, tmp_path, monkeypatch, change):
    monkeypatch.chdir(tmp_path)
    world(PAIR).close()
    kept = entries(own_snapshots)
    if "inputs" in change:
        change = {"inputs": (0, tmp_path / "a.inputs")}
    made = world(replace(PAIR, **change))
    assert made.engine.entries > 100
    made.cluster.close()
    assert entries(own_snapshots) == kept


def test_a_limit_within_the_boot_is_met(own_snapshots):
    world(PAIR).close()
    with pytest.raises(TimeLimit):
        world(replace(PAIR, max_sim_time=1_000_000_000))


def test_a_cache_that_cannot_be_written_costs_a_boot(own_snapshots, monkeypatch, capfd):
    own_snapshots.parent.joinpath(own_snapshots.name).write_text("no directory")  # as a read-only file system refuses
    try:
        made = world(PAIR)
        assert made.engine.entries > 100
        made.close()
        assert capfd.readouterr().err == ""
    finally:
        own_snapshots.unlink()


def test_a_snapshot_keeps_the_pages_that_are_not_zeros():
    """A NIC has megabytes of host memory that nothing is written to before the ranks begin."""
    memory = bytearray(10 * PAGE_SIZE + 8)
    memory[3 * PAGE_SIZE + 5] = memory[-1] = 7
    kept = snapshot.Sparse.of(memoryview(memory))
    assert (kept.size, list(kept.pages)) == (len(memory), [3, 10])
    again = bytearray(kept.size)
    kept.write(memoryview(again))
    assert again == memory


def test_what_was_booted_is_kept_page_by_page():
    """Memory for channels that share pools has few pages with anything in them."""
    world(CONFIGS["switches, memory of the host"])
    booted = snapshot.load(cache.Key(entries(cache.directory() / snapshot.KIND)[0].name), Attachment)
    assert booted is not None
    sizes = [content.size for node in booted.nodes for content in node.memory]
    kept = [len(content.pages) * PAGE_SIZE for node in booted.nodes for content in node.memory]
    assert sum(kept) < sum(sizes) / 2
