"""`lanai devices`: what it lists is what `lanai run` takes."""

import json

import pytest

from lanai_host import stacks
from lanai_sim import cli
from lanai_sim.commands import devices
from lanai_sim.engines import kinds as engines
from lanai_sim.machine import fabrics


@pytest.fixture
def lists(capsys):
    assert cli.main(["devices", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_everything_that_a_run_can_choose_is_listed(lists):
    assert [row["name"] for row in lists["devices"]] == list(stacks.names())
    assert [row["name"] for row in lists["engines"]] == list(engines.names())
    assert [row["name"].partition(":")[0] for row in lists["fabrics"][:-1]] == list(fabrics.names())
    assert lists["fabrics"][-1]["name"] == "FILE.toml"


def test_what_a_system_needs_and_offers(lists):
    ideal, np = (next(row for row in lists["devices"] if row["name"] == name) for name in ("ideal", "mpi-np"))
    assert ideal["needs"] == "nothing"
    assert "--trace" not in ideal["offers"]
    assert np["needs"] == "NICs with the firmware mpi-np"
    assert np["offers"] == "--trace; presets default, paper"


def test_the_tables_hold_each_cell(capsys):
    assert cli.main(["devices"]) == 0
    words = set(capsys.readouterr().out.split())
    for rows in (devices.devices(), devices.engine_kinds(), devices.fabric_kinds()):
        for row in rows:
            assert set(" ".join(row.values()).split()) <= words
