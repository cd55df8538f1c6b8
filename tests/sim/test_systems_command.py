"""`lanai systems`: what it lists is what `lanai run --system` takes."""

import json

from lanai_sim import cli
from lanai_sim.commands import systems
from lanai_sim.job.job import Job
from lanai_sim.job.systems import SYSTEMS
from lanai_sim.machine.machine import Machine


def test_each_system_is_listed_with_its_parts(capsys):
    assert cli.main(["systems", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(SYSTEMS)
    for row in rows:
        job = Job.on(row["name"])
        assert row["device"] == job.device
        assert Machine(host=row["host"]).host == job.machine.host
        assert row["what it stands for"]


def test_parts_that_a_system_does_not_say_are_the_default_ones():
    assert Machine(**systems.TESTBED) == Machine()


def test_the_table_holds_each_cell(capsys):
    assert cli.main(["systems"]) == 0
    words = set(capsys.readouterr().out.split())
    for name, system in SYSTEMS.items():
        assert set(" ".join(systems.row(name, system).values()).split()) <= words


def test_the_list_of_devices_refers_to_it(capsys):
    assert cli.main(["devices"]) == 0
    assert "`lanai systems`" in capsys.readouterr().out
