from pathlib import Path

import numpy as np
import pytest

from lanai_hdl.config import lanai41
from lanai_host.errors import UserError
from lanai_sim import cli
from lanai_sim.commands import replay
from lanai_sim.engines.replay import INPUTS as INPUTS_OF_A_SLOT
from lanai_sim.engines.replay import Inputs
from lanai_sim.engines.specialized import values
from lanai_sim.engines.specialized.case import Case, Moment
from lanai_sim.engines.specialized.choose import IDLE, LEFT_OUT, QUIET, Left, chosen, quiet
from lanai_sim.engines.specialized.samples import STORED, Samples, traffic_from

INPUTS = Path(__file__).parents[3] / "inputs"
SLOTS = 1000


def samples(*lasting, **columns):
    """Quiet in 900 of 1,000 slots."""
    resting = np.arange(SLOTS) % 10 != 9
    rows = {name: np.where(resting, 0, 1) for name in QUIET} | {IDLE: np.ones(SLOTS)} | columns
    names = tuple(name.rstrip("_") for name in rows)
    return Samples(names, np.array(list(rows.values()), np.uint64).T.copy(), frozenset(lasting), frozenset(names))


def test_registers_with_one_value_in_quiet_slots_are_chosen_those_that_differ_most_often_first():
    slot = np.arange(SLOTS)
    one = samples(
        steady=np.full(SLOTS, 64),
        often=np.where(slot % 10 >= 8, 5, 3),  # not the same in one of nine quiet slots
        seldom=np.where(slot == 500, 5, 3),
        counter=slot,
    )
    found = chosen([one, one])
    assert set(found) == {*QUIET, IDLE, "steady", "seldom"}
    assert found["steady"] == 64
    assert found["seldom"] == 3
    assert list(found).index("seldom") < list(found).index("steady")
    assert one.fits(found).mean() == 0.899


def test_a_register_must_be_usual_in_every_recording():
    assert "other" not in chosen([samples(other=np.zeros(SLOTS)), samples(other=np.ones(SLOTS))])


def test_registers_of_one_name_must_all_be_usual():
    both = {"pair": np.zeros(SLOTS), "pair_": np.arange(SLOTS)}
    assert "pair" not in chosen([samples(**both)])
    assert chosen([samples(pair=np.zeros(SLOTS), pair_=np.zeros(SLOTS))])["pair"] == 0


def test_names_that_change_with_the_model_are_left_out():
    found = chosen([samples(**{"__Vdfg": np.zeros(SLOTS), "$15": np.zeros(SLOTS), "block.$15": np.zeros(SLOTS)})])
    assert set(found) - set(QUIET) == {IDLE, "block.$15"}


def test_a_register_that_keeps_what_it_holds_is_not_usual():
    both = {"counts": np.zeros(SLOTS), "other": np.zeros(SLOTS)}
    assert set(chosen([samples("counts", **both)])) - set(QUIET) == {IDLE, "other"}


def test_slots_after_some_that_were_left_out_are_slots_as_any():
    assert LEFT_OUT not in chosen([samples(left_out=np.zeros(SLOTS))])
    assert LEFT_OUT not in Left([sending(left_out=np.zeros(SLOTS))], []).best()[1]


def test_no_case_has_a_register_that_software_sets():
    """Each system writes its own values there."""
    names = {name for case in values.known() for name in case.values}
    assert "up" in names
    assert not [name for name in names if STORED.fullmatch(name)]
    assert STORED.fullmatch("registers.control_and_events.scratch1_stored$next")
    assert not STORED.fullmatch("processor.tracker.is_held")


def test_slots_in_which_a_block_works_do_not_count():
    busy = np.arange(SLOTS) % 4 == 0
    one = samples(idle_=np.where(busy, 0, 1), state=np.where(busy, 7, 3))
    assert chosen([one])["state"] == 3
    assert len(quiet(one)) == 650


def test_slots_after_those_in_which_a_block_works_do_not_count():
    awake = np.arange(SLOTS) % 4 == 0
    one = samples(awake_block=awake, state=np.where(awake, 7, 3))
    assert len(quiet(one)) == 650
    assert chosen([one])["state"] == 3
    assert chosen([one])["awake_block"] == 0


def test_a_file_that_cannot_be_written_is_told_of_first(tmp_path):
    with pytest.raises(UserError, match="its directory does not exist"):
        replay.find_usual([INPUTS / "pingpong.inputs"], tmp_path / "none" / "values.txt")


def test_inputs_of_other_nics_alone_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"no \.inputs file of a NIC without optional blocks"):
        replay.find_usual([INPUTS / "adapter.inputs"], tmp_path / "values.txt")


def sending(**columns):
    """The send engine works in the last 400 of 1,000 slots; the host bus in 100 of them."""
    slot = np.arange(SLOTS)
    busy = {"send_dma.fsm_state": np.where(slot >= 600, 2, 0), "host_dma.fsm_state": np.where(slot >= 900, 1, 0)}
    rows = {name: np.zeros(SLOTS) for name in QUIET} | {IDLE: np.ones(SLOTS)} | busy | columns
    return Samples(tuple(rows), np.array(list(rows.values()), np.uint64).T.copy(), read=frozenset(rows))


def test_the_next_case_is_of_slots_that_no_case_fits():
    one = sending(steady=np.where(np.arange(SLOTS) >= 600, 5, 3), moves=np.arange(SLOTS))
    first = Case("quiet", Moment.ALONE, {"steady": 3})
    name, known = Left([one], [first]).best()
    assert name == "host-send"  # what the host bus does is left open, and more slots fit
    assert "host_dma.fsm_state" not in known
    assert known["steady"] == 5
    assert known["send_dma.fsm_state"] == 2
    assert "moves" not in known
    assert one.fits(known).sum() == 400


def test_a_register_that_few_slots_gain_by_is_left_out():
    """In one of ten slots it stands alone in the way."""
    slot = np.arange(SLOTS)
    name, known = Left([sending(seldom=np.where(slot % 10 == 0, 1, 0))], []).best()
    assert "seldom" not in known
    assert name


def test_there_is_no_case_when_all_slots_have_one():
    one = sending()
    assert Left([one], [Case("all", Moment.ALONE, {IDLE: 1})]).best() == ("", {})


def test_slots_before_the_first_flit_are_of_the_boot_and_do_not_count():
    slots = np.zeros(10, INPUTS_OF_A_SLOT)
    assert traffic_from(Inputs(lanai41(), slots, "")) == 0
    slots["rx_kind"][6:8] = 1
    assert traffic_from(Inputs(lanai41(), slots, "")) == 6


@pytest.mark.slow  # builds a model of its own
@pytest.mark.ci
def test_what_is_on_record_is_what_the_inputs_give_and_holds_in_most_slots(tmp_path, capsys):
    output = tmp_path / "values.txt"
    assert cli.main(["replay", "usual", str(INPUTS), "--output", str(output)]) == 0
    assert output.read_text() == values.PATH.read_text()
    said = capsys.readouterr().out
    shares = {
        (line.split(".")[0], moment): sum(float(one.strip("%")) for one in each.split(" + "))
        for line in said.splitlines()
        for moment, each in (part.split(" ", 1) for part in line.split(": ")[1].split(", "))
    }
    assert {name for name, _ in shares} == {path.stem for path in INPUTS.iterdir()}
    adapters = {name for name, moment in shares if moment == Moment.OWN}
    assert len(adapters) == 5
    assert min(share for (name, moment), share in shares.items() if moment != Moment.ALONE) > 50
    assert min(share for (name, _), share in shares.items() if name not in adapters) > 80
