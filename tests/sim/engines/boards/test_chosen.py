"""Boards as a run chooses them: their NIC and fabric come with them, and what cannot be is said."""

import dataclasses
import json

import pytest

from lanai_hdl.boards import BOARDS
from lanai_host.errors import UserError
from lanai_host.stacks import stack
from lanai_host.stacks.base import Placement
from lanai_sim.engines.kinds.board import USUAL, BoardKind, BoardsChosen
from lanai_sim.job.document import described
from lanai_sim.machine.fabrics import describe
from lanai_sim.machine.presets import PRESETS
from openlanai import Job

PORTS = ("/dev/ttyUSB0", "/dev/ttyUSB1")
NIC = BOARDS[USUAL].config


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", BoardsChosen()),
        (USUAL, BoardsChosen(USUAL)),
        (",".join(PORTS), BoardsChosen(USUAL, PORTS)),
        (f"{USUAL}:{','.join(PORTS)}", BoardsChosen(USUAL, PORTS)),
        ("rfc2217://a:1,rfc2217://b:1", BoardsChosen(USUAL, ("rfc2217://a:1", "rfc2217://b:1"))),
        ("/dev/a,/dev/b,/dev/c", BoardsChosen(USUAL, ("/dev/a", "/dev/b", "/dev/c"))),
    ],
)
def test_boards_are_ports_or_a_name(text, chosen):
    assert BoardsChosen.parse(text) == chosen


@pytest.mark.parametrize("text", [PORTS[0], f"{USUAL}:{PORTS[0]}", "a,b,a", "a,", "a,a", f"{USUAL}:"])
def test_other_texts_are_quoted(text):
    with pytest.raises(UserError, match=f"--board '{text}' does not name 2 or more serial ports; write, for example"):
        BoardsChosen.parse(text)


def test_the_nic_and_the_fabric_are_the_boards_own():
    job = Job("true", 2, "mpi-np", board=USUAL)
    assert (job.engine, job.machine.nic) == ("board", NIC)
    assert job.machine == Job("true", 2, "mpi-np", engine="board").machine
    assert Job.from_json(job.to_json()) == job


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"board": "ulx3s-85"}, "board 'ulx3s-85' is not known; did you mean"),
        ({"engine": "pysim", "board": USUAL}, "--board 'ulx3s-85f' cannot act on the engine 'pysim'"),
        ({"engine": "board", "nic": "small_fpga"}, "--nic cannot act on the engine 'board'"),
        ({"engine": "board", "fabric": "pair"}, "--fabric cannot act on the engine 'board'"),
        ({"board": USUAL, "device": "ideal"}, "--board ulx3s-85f cannot act on the device 'ideal', which has no NICs"),
        ({"engine": "board", "device": "ideal"}, "--engine board cannot act on the device 'ideal'.*: bip, ccu, lanai2"),
        ({"board": "/dev/a,/dev/b,/dev/c,/dev/d,/dev/e"}, "names 5 boards; a switch on ulx3s-85f has ports for 4"),
    ],
)
def test_what_cannot_be_chosen_is_refused(members, said):
    with pytest.raises(UserError, match=said):
        Job("true", 2, "mpi-np").but(**members)


@pytest.mark.parametrize(("ranks", "per_node", "nodes"), [(1, 1, 1), (5, 1, 5), (2, 2, 1)])
def test_there_are_as_many_boards_as_a_switch_has_ports(ranks, per_node, nodes):
    job = Job("true", ranks, "mpi-np", engine="board", ranks_per_node=per_node)
    with pytest.raises(UserError, match=f"the engine 'board' has 2 to 4 NICs, not {nodes}; start 2 to 4 ranks"):
        job.run()


def test_there_are_as_many_ranks_as_ports_are_named():
    job = Job("true", 3, "mpi-np", board=",".join(PORTS))
    with pytest.raises(UserError, match="the engine 'board' has 2 NICs, not 3; start 2 ranks"):
        job.run()


def test_ports_are_judged_before_firmware_is_built(tmp_path):
    job = Job("true", 2, "mpi-np", board=f"{tmp_path}/a,{tmp_path}/b", options="default")  # which would not fit
    with pytest.raises(UserError, match=f"cannot open serial port '{tmp_path}/a': No such file or directory; name the"):
        job.run()


def test_a_board_that_has_no_room_for_a_switch_has_one_cable(monkeypatch):
    monkeypatch.setitem(BOARDS, USUAL, dataclasses.replace(BOARDS[USUAL], ports=()))
    assert list(BoardKind().fabrics("")) == [2]


def test_more_than_two_boards_are_at_a_switch_of_their_own():
    four = Job("true", 4, "mpi-np", engine="board")
    assert Job("true", 2, "mpi-np", engine="board").but(ranks=4).machine == four.machine
    net = describe(four.machine.fabric, 4)
    net.check()
    assert net.path(0, 1) == [1, 1, 0]
    assert net.path(3, 2) == [1, 2, 0]
    assert net.path(2, 2) == [0]


def placement(nic, ranks=2):
    return Placement(ranks, 1, lambda a, b: 0, nic)


def test_firmware_that_does_not_fit_is_replaced_or_refused_before_anything_is_built():
    mpi_np = stack("mpi-np")
    assert mpi_np.fitting(placement(PRESETS["lanai41"]())) == mpi_np.default_options()
    assert mpi_np.fitting(placement(NIC)) == mpi_np.presets["small"]()
    mpi_np.check(mpi_np.presets["small"](), placement(NIC, 4))
    job = Job("true", 2, "mpi-np", engine="board")
    assert job.chosen_options == Job.from_json(json.dumps(described(job))).options == mpi_np.presets["small"]()
    with pytest.raises(
        UserError, match=r"less than 4608: use more NICs, .*; or take --firmware preset=small, which fits"
    ):
        Job("true", 2, "mpi-np", engine="board", options="default").run()
