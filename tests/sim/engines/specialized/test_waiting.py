"""NICs that wait outside their model do what the model does: recorded inputs with waits of random lengths, reads and
writes of the host, packets that are lost or damaged, and resets at random times."""

import random
from pathlib import Path

import numpy as np
import pytest

from lanai_hdl.csr.declare import Access
from lanai_hdl.machine import REGISTERS, SRAM_HOST, Control, host_offset
from lanai_sim.engines.replay import SUFFIX, Inputs, replayed
from lanai_sim.engines.specialized import waiting
from lanai_sim.engines.specialized.counters import Counter
from lanai_sim.studies.recordings import nic_of

FOLDER = Path(__file__).parents[3] / "inputs"
LONG = 12_000  # slots of a recording that are changed
READ = [host_offset(register.name) for register in REGISTERS if register.access & Access.HR]
CONTROL, SCRATCH = host_offset("CONTROL"), host_offset("SCRATCH1")
WAITED = Counter("waited", 0xFF, True, ("vlSelfRef.timeout",))
NAMES = {"now": "$signal", "waited": "sequencer.waited", "waited__024next": "sequencer.waited$next"}
NAMES |= {"timeout": "timeout", "kind": "link_tx__kind"}


def load(name):
    path = FOLDER / f"{name}{SUFFIX}"
    return Inputs.load(path, nic_of(path))


def still(count, like):
    slots = np.zeros(count, like.dtype)
    slots["mem_ready"] = 1
    return slots


def waits(rng, slots):
    """Slots without inputs, some longer than the adapter waits for an answer."""
    return still(rng.choice((1, 2, 7, 50, 333, 1200, 40_000 if rng.random() < 0.2 else 80)), slots)


def accessed(rng, slots):
    """The host reads or writes for some slots, as long as it may have to wait."""
    access = still(rng.randrange(1, 60), slots)
    access["pio_valid"] = 1
    write = rng.random() < 0.4
    access["pio_addr"] = SCRATCH if write else rng.choice((*READ, SRAM_HOST + 4 * rng.randrange(4096)))
    access["pio_write"] = write
    if write:
        access["pio_wdata"], access["pio_be"] = rng.getrandbits(32), 15
    return access


def reset(rng, slots):
    access = still(30, slots)
    access["pio_valid"] = access["pio_write"] = 1
    access["pio_addr"], access["pio_be"] = CONTROL, 15
    access["pio_wdata"] = int(rng.choice((Control.RESET, Control.RUN)))
    return access


def changed(name, seed):
    """The inputs of a recording, with what a random host and bad wires do to it."""
    rng, slots = random.Random(seed), load(name).slots
    begin = rng.randrange(max(1, len(slots) - LONG)) if seed % 3 else 0
    parts, at = [slots[:begin]], begin
    while at < min(len(slots), begin + LONG):
        end = at + rng.choice((1, 10, 100, 900))
        part = slots[at:end].copy()
        if rng.random() < 0.1:
            part["rx_kind"] = 0  # lost
        elif rng.random() < 0.1:
            part["rx_data"] ^= np.uint32(1 << rng.randrange(32))
        makes = (waits, waits, accessed, *([reset] if rng.random() < 0.02 * (seed % 4) else []))
        parts += [part, rng.choice(makes)(rng, slots)]
        at = end
    return np.concatenate([*parts, still(3000, slots)])


@pytest.mark.ci  # builds NICs with an adapter
@pytest.mark.parametrize("name", ["adapter", "adapter_low", "adapter_high", "stream_mbcf", "stream_sci"])
def test_a_recorded_nic_waits_outside_and_gives_the_outputs_on_record(name):
    recorded = load(name)
    found = replayed(recorded.nic, recorded.slots)
    least = len(recorded.slots) * {"adapter": 0.2, "adapter_high": 0.2, "adapter_low": 0.04}.get(name, 0)
    assert found.digest == recorded.digest
    assert found.outside > least


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["adapter", "adapter_low", "adapter_high", "stream_mbcf", "stream_sci"])
def test_a_nic_that_waits_outside_its_model_does_the_same(name, seed):
    nic, slots = load(name).nic, changed(name, seed)
    found, right = replayed(nic, slots), replayed(nic, slots, whole=True)
    assert found.digest == right.digest
    assert found.outside > 1000
    assert right.outside == 0


def text(names=NAMES, needed=("now", "waited", "waited__024next", "timeout"), counters=(WAITED,)):
    return waiting.written("Root", names, needed, ["kind"], counters)


def test_a_model_whose_time_is_not_found_is_evaluated_in_all_slots():
    assert text({**NAMES, "now": "another"}) == waiting.none("Root")
    assert "waiting_bytes() { return 0; }" in waiting.none("Root")


def test_a_counter_is_added_to_and_not_compared():
    assert "root->waited += slots" in text()
    assert "uint64_t(vlSelfRef.timeout)" in text()
    assert "sizeof(Root::waited), false" in text()
    assert "sizeof(Root::timeout), true" in text()


@pytest.mark.parametrize("missing", ["timeout", "waited__024next"])
def test_one_whose_limit_or_next_value_may_be_old_is_compared_as_all_else(missing):
    needed = {"now", "waited", "waited__024next", "timeout"} - {missing}
    assert "root->waited +=" not in text(needed=needed)
    assert "sizeof(Root::waited), true" in text(needed=needed)
