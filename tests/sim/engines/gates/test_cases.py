"""Cases: each kind of NIC that a device has gets its own, which its slots fit; a file of one's own comes first."""

from dataclasses import replace

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_host import stacks
from lanai_host.stacks.base import NicStack
from lanai_sim import cli
from lanai_sim.engines.gates import cases, choose
from lanai_sim.engines.gates.cases import Case
from lanai_sim.studies.recordings import MESSAGES, RECORDINGS, Recording, played

from ..test_replay import FOLDER, load

DEVICES = [stack for stack in stacks.stacks() if isinstance(stack, NicStack)]
SHARES = {"pingpong": 0.9, "stream": 0.9, "stream_mbcf": 0.9, "stream_sci": 0.9}


@pytest.mark.parametrize("stack", DEVICES, ids=lambda stack: stack.name)
def test_the_nic_of_each_device_has_cases_of_its_own(stack):
    nic = stack.sized(lanai41(), 2, 1)
    [text] = cases.texts(nic)
    found = list(cases.read(text))
    assert {one.nics for one in found} == {cases.kind_of(nic)}
    assert all(len(one.values) > 90 for one in found)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.ci] if RECORDINGS[name].nic.blocks else []) for name in SHARES]
)
def test_most_slots_of_a_recording_fit_a_case(name):
    assert choose.share(load(name)) > SHARES[name]


@pytest.mark.ci
def test_so_do_slots_of_a_longer_run_on_lanai2():
    """No case knows a value that is gone after some hundred messages."""
    run = RECORDINGS["messages"].job.but(device="lanai2", program=("python", "-c", MESSAGES.format(turns=400)))
    assert choose.share(played(Recording(run, 0), "on lanai2")) > 0.9


def test_kinds_of_nics_are_their_blocks_and_what_these_have_beyond_the_default():
    assert cases.kind_of(lanai41()) == "alone"
    assert cases.kind_of(lanai41().but(blocks=(Remote(),))) == "remote"
    larger = Remote(peers=64, match_cells=16, groups=8)
    assert cases.kind_of(lanai41().but(blocks=(larger,))) == "remote.match_cells.groups"
    assert cases.kind_of(lanai41().but(blocks=(replace(larger, groups=0),))) == "remote.match_cells"


def test_a_case_is_written_as_what_differs_from_the_one_before():
    first = Case("quiet", "alone", {"lanai_nic.a$1": 0, "lanai_nic.nic.b": 31, "lanai_nic.nic.c": 0})
    second = Case("send", "alone", {"lanai_nic.a$1": 0, "lanai_nic.nic.d.e": 1})
    other = Case("quiet", "tally", {"lanai_nic.nic.b": 31})
    text = cases.written([first, second, other])
    assert list(cases.read(text)) == [first, second, other]
    assert (
        text
        == "nic alone\ncase quiet\n . a$1\n nic b=1f c\ncase send\n nic\n nic.d e=1\nnic tally\ncase quiet\n nic b=1f\n"
    )


def test_names_do_not_depend_on_the_numbers_by_which_amaranth_tells_them_apart():
    before = ["t.control$567", "t.m$9.$signal", "t.m$9.$signal$46", "t.m$9.$signal$103[1:0]", "t.m$12.x", "t.m$9.$28"]
    after = ["t.control$99", "t.m$10.$signal", "t.m$10.$signal$7", "t.m$10.$signal$30[1:0]", "t.m$33.x", "t.m$10.$5"]
    names = cases.stable_names(before)
    assert [*names.values()] == [*cases.stable_names(after).values()]
    assert names["t.m$9.$signal$103[1:0]"] == "t.m$1.$signal$2[1:0]"
    assert len({*names.values()}) == len(before)


def test_cases_of_a_directory_on_the_path_come_first(tmp_path, monkeypatch):
    """And those for one kind leave the models of others as they are."""
    nic = lanai41()
    before = cases.texts(nic), cases.texts(nic.but(blocks=(Remote(),)))
    (tmp_path / "cases.txt").write_text("nic alone\ncase mine\n nic a b=1\n")
    monkeypatch.setenv("LANAI_PATH", str(tmp_path))
    assert cases.texts(nic) == ["nic alone\ncase mine\n nic a b=1\n"] != before[0]
    assert cases.texts(nic.but(blocks=(Remote(),))) == before[1]


def test_a_nic_without_cases_takes_those_of_which_it_has_most(tmp_path, monkeypatch):
    few, many = "nic x\ncase few\n nic a b=1\n", "nic y\ncase many\n nic a b=1 c\ncase other\n nic a b z\n"
    (tmp_path / "cases.txt").write_text(few + many)
    monkeypatch.setenv("LANAI_PATH", str(tmp_path))
    monkeypatch.setattr(cases, "PATH", tmp_path / "none" / "cases.txt")
    widths = {"lanai_nic.nic.a": 1, "lanai_nic.nic.b": 1, "lanai_nic.nic.c": 8}
    assert cases.known(widths, lanai41()) == [{"lanai_nic.nic.a": 0, "lanai_nic.nic.b": 1, "lanai_nic.nic.c": 0}]
    assert cases.known({"lanai_nic.nic.a": 1}, lanai41()) == []


@pytest.mark.ci
def test_the_command_chooses_cases_for_each_kind_and_writes_them(tmp_path, capsys):
    (tmp_path / "halo.inputs").write_bytes((FOLDER / "halo.inputs").read_bytes())
    words = ["dev", "replay", "usual", "--from", str(tmp_path), "--output", str(tmp_path / "cases.txt")]
    assert cli.main(words) == 0
    found = list(cases.read((tmp_path / "cases.txt").read_text()))
    assert {one.nics for one in found} == {"alone"}
    told = [f"{one.name}, NICs alone: {len(one.values)} fields" for one in found]
    assert capsys.readouterr().out.splitlines() == told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is nothing to choose from; name a device, or --from DIRECTORY"),
        (["--from", "nowhere"], "'nowhere' holds no .inputs files"),
        (["--output", "no/where", "mbcf"], "cannot write 'no/where': its directory does not exist"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_one_line(words, said, capsys):
    assert cli.main(["dev", "replay", "usual", *words]) == 2
    assert said in capsys.readouterr().err
