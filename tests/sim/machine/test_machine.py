"""A machine is data: what users write becomes the parts, and JSON brings each part back."""

import json
import pickle

import pytest

from lanai_hdl.config import BlockedAction, NicConfig
from lanai_hdl.remote.config import Remote
from lanai_host.config import PRESETS as HOSTS
from lanai_host.config import HostConfig, Queue
from lanai_host.errors import UserError
from lanai_sim.engines.base import FaultKind
from lanai_sim.machine.faults import Fault, parse
from lanai_sim.machine.machine import Machine
from lanai_sim.machine.presets import PRESETS as NICS

FAULTS = (
    "drop nic0 packet=3",
    "drop * rate=0.25",
    "corrupt switch0.1 rate=0.01 seed=7 bit=5",
    "duplicate nic1 packet=0 seed=2",
    "delay nic0 packet=1 by=1234567ns",
    "reorder nic0 rate=0.1 seed=3 by=5us",
    "down nic1 from=1ps to=3ms",
)
OTHERS = [
    Machine(NicConfig(sram_size=131072, blocked_action=BlockedAction.RESET)),
    Machine(NicConfig(blocks=(Remote(peers=32),))),
    Machine(fabric="torus:2x2"),
    Machine(fabric=[("nic0", "switch0.1"), ("nic1", "switch0.3")]),
    Machine(host=HostConfig(queue=Queue.HASH, cpu_scale=0.1, match=7)),
    Machine(faults=FAULTS),
]
ALL = [Machine(), *map(Machine, NICS), *(Machine(host=name) for name in HOSTS), *OTHERS]


@pytest.mark.parametrize("machine", ALL)
def test_json_brings_a_machine_back(machine):
    assert Machine.from_json(machine.to_json()) == machine
    assert pickle.loads(pickle.dumps(machine)) == machine


def test_a_part_may_be_written_as_users_write_it():
    machine = Machine({"preset": "small_fpga", "link_latency": 16}, host={"match": 5}, faults=["drop nic0 packet=3"])
    assert (machine.nic.sram_size, machine.nic.link_latency, machine.host) == (131072, 16, HostConfig(match=5))
    assert machine.faults == (Fault(FaultKind.DROP, "nic0", packet=3),)
    assert machine.but(nic="t3d").nic == NICS["t3d"]()
    assert machine.but(nic="t3d").host == machine.host


def test_a_file_of_cables_is_read_at_once(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text('cables = [["nic0", "switch0.1"], ["nic1", "switch0.3"]]')
    machine = Machine(fabric=str(path))
    path.unlink()
    assert machine == Machine(fabric=[("nic0", "switch0.1"), ("nic1", "switch0.3")])
    assert json.loads(machine.to_json())["fabric"] == {"cables": [["nic0", "switch0.1"], ["nic1", "switch0.3"]]}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_written_as_it_is_read(text):
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"nics": {}}, r"no key 'nics'; did you mean 'nic'\?"),
        ({"nic": {"sram_siz": 5}}, r"\[nic\] has no key 'sram_siz'; did you mean 'sram_size'\?"),
        ({"nic": {"remote": {"peers": 3}}}, r"\[nic\] of these NICs has no key 'remote'"),
        ({"nic": {"blocks": ["remote"], "remote": {"peer": 3}}}, r"has no key 'peer'; did you mean 'peers'\?"),
        ({"host": {"mach": 5}}, r"\[host\] has no key 'mach'; did you mean 'match'\?"),
        ({"host": {"match": "5"}}, "must be a whole number"),
        ({"faults": "drop nic0 packet=3"}, "write a list"),
        ({"fabric": {"cable": []}}, r"did you mean 'cables'\?"),
        ([], "must be a table"),
    ],
)
def test_json_that_is_no_machine_is_refused(document, complaint):
    with pytest.raises(UserError, match=complaint):
        Machine.from_json(json.dumps(document))


def test_text_that_is_no_json_is_refused():
    with pytest.raises(UserError, match="cannot be read from JSON: Expecting value"):
        Machine.from_json("nic: t3d")


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match=r"nic 't3dd' is not known; did you mean 't3d'\?"):
        Machine("t3dd")
    with pytest.raises(UserError, match=r"Machine has no key 'hosts'; did you mean 'host'\?"):
        Machine().but(hosts="free")
