"""`lanai paper --artifact`: a script that measures again and says by its exit code whether all figures came out."""

import json
import os
import subprocess
import sys

import pytest

from lanai_sim.cli import main
from lanai_sim.studies.papers import records, studies
from lanai_sim.studies.papers import studies as artifact
from lanai_sim.studies.papers.records import Record

STUB = """\
#!/bin/sh
if [ "$1" = diff ]; then exec {python} -m lanai_sim "$@"; fi
echo "$@" > called.txt
{measure}
"""


def repeat(folder, measure):
    """The exit code of the script, where `measure` stands for `lanai paper`."""
    command = folder / "bin" / "lanai"
    command.parent.mkdir(exist_ok=True)
    command.write_text(STUB.format(python=sys.executable, measure=measure))
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(folder / "run.sh")], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_the_script_ends_with_0_if_the_figures_came_out_with_1_if_not_and_with_2_if_there_are_none(tmp_path):
    study = studies.find("t3d")
    record = Record({"latency_us.32": 30.0, "put_MBps": 115.0, "get_MBps": 57.0}, "abc", "2026-11-26", True, 6)
    artifact.write(tmp_path, "t3d", study.frame, record, study.answer(dict(record.figures)))
    assert repeat(tmp_path, "cp expected.json measured.json")[0] == 0
    assert (tmp_path / "called.txt").read_text().split()[:2] == ["paper", "t3d"]
    found = json.loads((tmp_path / "expected.json").read_text())
    found["figures"]["paper.t3d.figure.latency_us.32"] = 30.1
    (tmp_path / "other.json").write_text(json.dumps(found))
    code, said = repeat(tmp_path, "cp other.json measured.json")
    assert code == 1
    assert "paper.t3d.figure.latency_us.32" in said
    assert repeat(tmp_path, "exit 3")[0] == 2


def test_it_tells_commit_hours_tolerance_and_what_to_expect(tmp_path):
    study = studies.find("mbcf")
    record = Record({"theirs.oneway.write.4": 24.0, "theirs.npb.ep.seconds": 15.14}, "abc", "2026-11-26", False, 90)
    records.write(tmp_path / "mbcf.json", "mbcf", record, study.answer(dict(record.figures)))
    assert main(["paper", "mbcf", "--from", str(tmp_path / "mbcf.json"), "--artifact", str(tmp_path / "a")]) == 0
    text = (tmp_path / "a" / "README.md").read_text()
    for words in ("commit `abc`", "about 1.5 h", "within 0.1 %", "| `mbcf.t2_1.write.4` | 24.5 us | 24 |", "`NPB`"):
        assert words in text
    assert all(one.says in text for one in study.frame.experiments)
    assert '--npb "$NPB"' in (tmp_path / "a" / "run.sh").read_text()
    assert records.read(tmp_path / "a" / "expected.json", "mbcf") == record


@pytest.mark.parametrize(("quick", "end"), [(True, " --quick"), (False, "--output .")])
def test_it_repeats_a_quick_record_quickly(quick, end):
    assert artifact.command("t3d", Record({}, quick=quick)).endswith(end)
