"""The NIC's and the switch's models by LLVM: a run in pieces is the run, a switch does what it does in Amaranth's
simulator, and a model is translated once. `test_replay` has recorded inputs."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from amaranth import Value
from amaranth.sim import Simulator

from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.link.format import FlitKind, route_word
from lanai_hdl.switch_config import SwitchConfig
from lanai_host.errors import UserError
from lanai_sim.engines import designs, elaboration
from lanai_sim.engines.designs import Design
from lanai_sim.engines.gates import compiled
from lanai_sim.engines.gateware.verilog import top
from lanai_sim.engines.replay import SUFFIX, Inputs
from lanai_sim.studies.recordings import nic_of

FOLDER = Path(__file__).parents[3] / "inputs"
SLOTS, SEED = 1500, 1999
SLOT = "lanai_nic.$signal"  # the slot's number, to which the source gives no name of its own
SMALL = NicConfig(sram_size=32768)


def load(name):
    path = FOLDER / f"{name}{SUFFIX}"
    return Inputs.load(path, nic_of(path))


def test_a_run_in_pieces_is_the_run_and_fields_have_names():
    """Pieces have odd lengths, after which the two blocks of state have changed places."""
    recorded = load("pingpong")
    design = Design(recorded.nic)
    whole, pieces = (compiled.Simulation(compiled.model(design), design.numbers) for _ in range(2))
    inputs = np.zeros(1001, whole.inputs)
    outputs = np.concatenate([pieces.run(inputs[first : first + 77]) for first in range(0, len(inputs), 77)])
    assert np.array_equal(whole.run(inputs), outputs)
    assert pieces.field(SLOT) == whole.field(SLOT) == len(inputs) - 1


def test_other_numbers_and_inputs_than_the_models_are_refused():
    model = compiled.model(Design(lanai41()))
    with pytest.raises(UserError, match=r"takes the numbers .*latency_timer.*, not none"):
        compiled.Simulation(model)
    with pytest.raises(TypeError, match="not that of this model"):
        compiled.Simulation(model, Design(lanai41()).numbers).run(np.zeros(1, "u4"))


def packets(rng, ports):
    """Flits of one input for ever: packets to any port, some that is not there, with pauses and nonsense between."""
    while True:
        yield from [(FlitKind.IDLE, 0)] * rng.choice((0, 0, 1, 40))
        yield FlitKind.HEAD, route_word([rng.randrange(ports + 1)])
        for _ in range(rng.choice((1, 5, 40))):
            yield rng.choice((FlitKind.DATA, FlitKind.DATA, FlitKind.CHECK, FlitKind.IDLE)), rng.getrandbits(32)
        yield FlitKind.TAIL, rng.getrandbits(32)
        if rng.random() < 0.1:
            yield rng.choice((FlitKind.DATA, FlitKind.DOWN, FlitKind.TAIL)), rng.getrandbits(32)


def random_inputs(rng, ports, slots):
    """The inputs of a switch: idle first, then packets on all ports, and STOPs that last."""
    inputs, stopped = [packets(rng, ports) for _ in range(ports)], [0] * ports
    for slot in range(slots):
        row = {}
        for port in range(ports):
            kind, data = next(inputs[port]) if slot > 5 else (FlitKind.IDLE, 0)
            stopped[port] = max(stopped[port] - 1, 0) or (rng.random() < 0.01) * 60
            row |= {f"rx__{port}__kind": int(kind), f"rx__{port}__data": data, f"tx__{port}__stop": stopped[port] > 0}
        yield row


def test_a_switch_does_what_it_does_in_amaranths_simulator():
    design = Design(SwitchConfig(4, lanai41()))
    simulation, gateware = compiled.Simulation(compiled.model(design), design.numbers), top(design)
    values = list(random_inputs(random.Random(SEED), 4, SLOTS))
    rows = np.zeros(SLOTS, simulation.inputs)
    for row, one in zip(rows, values, strict=True):
        for name, value in one.items():
            row[name] = value
    outputs = simulation.run(rows)
    members = gateware.signature.flatten(gateware)
    signals = {"__".join(map(str, path)): Value.cast(signal) for path, _, signal in members}
    moved = set()

    async def bench(ctx):
        for slot, one in enumerate(values):
            for name, value in one.items():
                ctx.set(signals[name], value)
            ctx.set(gateware.clk, 0)
            ctx.set(gateware.clk, 1)
            for name in outputs.dtype.names:
                assert outputs[name][slot] == ctx.get(signals[name]), (slot, name)
            moved.update(name for name in outputs.dtype.names if outputs[name][slot])

    simulator = Simulator(gateware)
    simulator.add_testbench(bench)
    simulator.run()
    assert moved == {*outputs.dtype.names} - {"resets", "blocked"}, "each output of a switch without options"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The designs that are translated, into a cache of the test's own."""
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    found, translate = [], elaboration.in_fresh_process

    def translated(maker, wanted):
        found.extend(wanted)
        return translate(maker, wanted)

    monkeypatch.setattr(compiled, "in_fresh_process", translated)
    return found


def test_a_model_is_translated_once_and_again_if_its_entry_is_damaged(made, tmp_path):
    design = Design(SwitchConfig(2, SMALL))
    for _ in range(2):
        compiled.model(design)
    assert made == [(design.general, False)]
    [code] = tmp_path.glob("gates/*/*/model.so")
    code.chmod(0o644)
    code.write_bytes(code.read_bytes()[:-1])
    compiled.model(design)
    assert made == [(design.general, False)] * 2


def test_a_model_that_cannot_be_read_is_named_in_one_line(tmp_path, monkeypatch):
    """Its files are those that were written, but not what this version writes."""
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))

    def write(folder):
        (folder / compiled.DESCRIPTION).write_text("{}")

    monkeypatch.setattr(compiled, "_key", lambda design, signals: "ab" * 32)
    folder = compiled.entries.entry(compiled.KIND, "ab" * 32, write)
    with pytest.raises(UserError) as raised:
        compiled.model(Design(SMALL))
    assert str(raised.value).startswith(f"cannot load the cached model {str(folder)!r} (KeyError(")


def test_who_needs_the_same_models_at_the_same_time_waits_for_one_translation(made, tmp_path):
    wanted = [(Design(SwitchConfig(ports, SMALL)), False) for ports in (2, 3)]
    with ThreadPoolExecutor() as threads:
        several = list(threads.map(compiled.models, (wanted, wanted[::-1], wanted)))
    assert [sorted(model.key for model in models) for models in several] == [sorted(m.key for m in several[0])] * 3
    assert sorted(one.config.ports for one, _ in made) == [2, 3]
    files = sorted(file.name for file in tmp_path.glob("gates/*/*/*"))
    assert files == sorted(2 * ["DIGESTS", compiled.DESCRIPTION, compiled.CODE])
    assert not [*tmp_path.glob("gates/*/.*")]  # neither locks nor what was half built


def test_gateware_edited_while_it_is_translated_is_not_stored(made, monkeypatch, tmp_path):
    keys = iter((("before",), ("after",)))
    monkeypatch.setattr(compiled, "made_of_sources", lambda wanted: next(keys))
    with pytest.raises(UserError, match="sources changed"):
        compiled.model(Design(SwitchConfig(2, SMALL)))
    assert not [*tmp_path.glob("gates/*/*/model.so")]


def test_the_translators_sources_are_in_the_key(monkeypatch):
    def key_of_entry(kind, key):
        raise LookupError(key)

    def key_with(digest):
        monkeypatch.setattr(compiled, "sources_digest", lambda packages: (digest, *packages))
        with pytest.raises(LookupError) as raised:
            compiled.model(Design(SMALL))
        return raised.value.args

    monkeypatch.setattr(compiled.entries, "present", key_of_entry)
    assert key_with("before") == key_with("before") != key_with("after")
    assert designs.sources_digest(["lanai_sim.engines.gates"]) != designs.sources_digest()


def test_without_a_compiler_nothing_is_translated(made, monkeypatch):
    def none(language):
        raise UserError("no C compiler was found")

    monkeypatch.setattr(compiled, "find", none)
    with pytest.raises(UserError, match="no C compiler was found"):
        compiled.model(Design(SwitchConfig(2, SMALL)))
    assert made == []
