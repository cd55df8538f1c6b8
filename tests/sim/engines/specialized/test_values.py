import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.switch_config import SwitchConfig
from lanai_sim.engines import designs
from lanai_sim.engines.designs import NIC_TOP, Design
from lanai_sim.engines.elaboration import elaborate
from lanai_sim.engines.specialized import rewrite, values
from lanai_sim.engines.specialized.case import Case, Moment
from lanai_sim.engines.verilated import Model, verilate
from lanai_sim.machine.presets import PRESETS
from lanai_sim.studies.recordings import RECORDINGS


@pytest.mark.ci  # verilates two NICs
def test_every_name_on_record_is_one_of_the_nics_that_are_recorded(tmp_path):
    made = list(dict.fromkeys(Design(recording.nic).general for recording in RECORDINGS.values()))
    names = set()
    for texts in elaborate(made, designs.key(made)):
        model = Model(NIC_TOP, texts)
        verilate(model, False, tmp_path)
        known = rewrite.members((tmp_path / f"{model.class_name}___024root.h").read_text())
        names |= {rewrite.plain(name) for name in known}
    missing = {name for case in values.known() for name in case.values} - names
    assert not missing, "the gateware has changed; run: lanai replay usual tests/inputs"


def test_what_is_written_is_what_is_read():
    given = (
        Case("quiet", Moment.ALONE, {"host_dma.fsm_state": 0, "receiver.free": 64}),
        Case("send", Moment.OWN, {"b": 1, "a": 2}),
    )
    assert [case.key for case in values.parse(values.written(given))] == [case.key for case in given]
    assert values.written(values.known()) == values.PATH.read_text()


def test_only_models_of_nics_for_the_engine_are_rewritten():
    assert values.of(Design(lanai41())) == values.of(Design(lanai41(), probes=True)) == values.known() != ()
    assert values.of(Design(lanai41(), as_synthesized=True)) == ()
    assert values.of(Design(SwitchConfig(ports=4))) == ()


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_an_idle_slot_is_as_usual_on_every_nic(preset):
    """A register that is usual holds what no number of the NIC decides."""
    assert values.of(Design(PRESETS[preset]())) == values.known()


def test_a_key_changes_with_the_values():
    def key(value, moment=Moment.ALONE):
        return values.key((Case("one", moment, {"host_dma.fsm_state": value}),))

    assert len({key(0), key(1), key(0, Moment.OWN)}) == 3
    assert values.key(()) == ()
    assert values.key((), ("state_clk",)) != ()
