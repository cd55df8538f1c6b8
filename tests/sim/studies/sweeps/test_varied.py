"""`lanai sweep --vary`: points, runs, rows and plots."""

import csv
import io
import json
import re
import sys
import types

import pytest

from lanai_hdl.errors import UserError
from lanai_sim import tables
from lanai_sim.cli import main
from lanai_sim.executors.journal import Row
from lanai_sim.studies.sweeps import varied

PROGRAM = "from mpi4py import MPI; MPI.COMM_WORLD.rank or print('{\"size\": %d}' % MPI.COMM_WORLD.size)"
RUN = ["python", "-c", PROGRAM]


def swept(tmp_path, *options):
    return main(["sweep", "--jobs", "1", "--journal", str(tmp_path / "j"), *options])


def test_all_combinations_are_run_and_kept(tmp_path, capsys):
    options = ["--ranks", "1-2", "--vary", "ideal.latency=0,2000000", "--", *RUN]
    assert swept(tmp_path, *options) == 0
    said = capsys.readouterr()
    assert "4 runs, 0 of them in" in said.err
    found = list(csv.DictReader(io.StringIO(said.out)))
    assert [(row["ideal.latency"], row["ranks"], row["printed.size"]) for row in found] == [
        ("0", "1", "1"), ("0", "2", "2"), ("2000000", "1", "1"), ("2000000", "2", "2"),
    ]  # fmt: skip
    assert float(found[3]["run.simulated_us"]) > float(found[1]["run.simulated_us"])
    assert swept(tmp_path, "--json", str(tmp_path / "f.json"), *options) == 0
    again = capsys.readouterr()
    assert "4 runs, 4 of them in" in again.err
    assert again.out == said.out


def test_a_single_run_is_told_as_one(tmp_path, capsys):
    assert swept(tmp_path, "-n", "1", "--", *RUN) == 0
    assert "1 run, 0 of them in" in capsys.readouterr().err


def test_a_run_that_fails_is_a_row(tmp_path, capsys):
    assert (
        swept(tmp_path, "-n", "1,2", "--", "python", "-c", "from mpi4py import MPI; assert MPI.COMM_WORLD.size < 2")
        == 1
    )
    said = capsys.readouterr()
    assert [row["ok"] for row in csv.DictReader(io.StringIO(said.out))] == ["True", "False"]
    assert "lanai: ranks=2: rank " in said.err


def test_a_run_that_takes_too_long_is_a_row(tmp_path, capsys):
    assert swept(tmp_path, "-n", "1", "--limit", "0.5", "--", "python", "-c", "import time; time.sleep(60)") == 1
    assert "ranks=1: the run has taken --max-wall=0.5 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--vary", "mbcf.window=1"], "mbcf.window is a parameter of 'mbcf', and the device is 'ideal'"),
        (["--vary", "nic.rx_fifo=64"], "=64: nic.rx_fifo cannot act on the device 'ideal', which has no NICs"),
        (["--vary", "fabric=pair", "--vary", "nic=t3d"], "fabric, nic cannot act on the device 'ideal'"),
        (["--vary", "host.pio_threshold=9"], "=9: host.pio_threshold cannot act on the device 'ideal'"),
        (["--device", "sci", "--vary", "host.host_matching=1"], "host.host_matching cannot act on the device 'sci'"),
        (["--device", "sci", "--vary", "sci.ring=3"], "SciOptions.ring=3 must be a whole number from 4 to 1,024"),
        (["--device", "sci", "--vary", "device=sci"], "--device sci: device varies already"),
        (["-n", "2", "--vary", "ranks=2"], "ranks is varied twice"),
        (["-n", "2", "--format", "parquet"], "--format parquet needs a file: name it with --rows FILE"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(options, said, tmp_path, capsys):
    assert swept(tmp_path, *options, "--", *RUN) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "j").exists()


def test_without_a_program_or_a_study_a_line_says_what_to_write(tmp_path, capsys):
    assert swept(tmp_path, "-n", "2") == 2
    assert "no program was named" in capsys.readouterr().err
    assert main(["sweep"]) == 2
    assert "name a study, such as `lanai sweep queues`" in capsys.readouterr().err


AXES = {"nic.link_kbytes": [1000, 2000], "host": ["free", "thesis"], "ranks": [2]}
ROWS = [
    Row(
        {"vary": {"nic.link_kbytes": rate, "host": host, "ranks": 2}},
        {"ok": True, "ending": "finished", "code": 0, "figures": {"run.simulated_us": rate / 100}},
    )
    for rate in AXES["nic.link_kbytes"]
    for host in AXES["host"]
]


def test_a_plot_has_units_and_a_line_for_each_combination():
    plot = varied.plot(AXES, ROWS, varied.TIME, "ring.py")
    assert (plot.x, plot.y) == ("nic.link_kbytes, kB/s", "run.simulated, us")
    assert plot.lines == {"host=free": {1000.0: 10.0, 2000.0: 20.0}, "host=thesis": {1000.0: 10.0, 2000.0: 20.0}}
    with pytest.raises(UserError, match=r"--y run\.packets: no run has this figure; there are: run\.simulated_us"):
        varied.plot(AXES, ROWS, "run.packets", "")
    with pytest.raises(UserError, match="a plot needs a parameter with several values"):
        varied.plot({"host": ["free"]}, ROWS, varied.TIME, "")


@pytest.mark.parametrize(("name", "values"), [("host", ["free", "thesis"]), ("host.host_matching", [False, True])])
def test_words_and_switches_are_bars(name, values):
    rows = [
        Row({"vary": {name: value}}, {"ok": True, "figures": {"run.simulated_us": 3.0 + at}})
        for at, value in enumerate(values)
    ]
    plot = varied.plot({name: values}, rows, varied.TIME, "ring.py")
    assert plot.bars == {f"{name}={value}": {"run.simulated, us": 3.0 + at} for at, value in enumerate(values)}
    assert not plot.lines


OWN = (
    "import json, os, sys; from mpi4py import MPI; "
    "print(json.dumps({'sum': int(sys.argv[1]) + int(os.environ['MORE'])}))"
)


def test_arguments_and_variables_of_the_program_are_varied(tmp_path, capsys):
    words = ["--vary", "arg.noise=1,20", "--vary", "env.MORE=300,04000", "--", "python", "-c", OWN, "{noise}"]
    assert swept(tmp_path, "-n", "1", *words) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["arg.noise"], row["env.MORE"], row["printed.sum"]) for row in found] == [
        ("1", "300", "301"), ("1", "04000", "4001"), ("20", "300", "320"), ("20", "04000", "4020"),
    ]  # fmt: skip


def test_an_argument_that_has_no_place_in_the_program_is_refused(tmp_path, capsys):
    assert swept(tmp_path, "-n", "1", "--vary", "arg.noise=1,2", "--", *RUN) == 2
    assert "no argument of the program has {noise}; write: -- python -c" in capsys.readouterr().err


def test_rows_become_columns_of_parquet(monkeypatch, tmp_path):
    written = {}

    def write_table(table, place):
        place.write_text(json.dumps(table))

    parquet = types.SimpleNamespace(write_table=write_table)
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(table=lambda columns: columns, parquet=parquet))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    path = tmp_path / "rows.parquet"
    tables.write(varied.tidy(ROWS), str(path), tables.format_of(str(path), None))
    written = json.loads(path.read_text())
    assert written["host"] == ["free", "thesis"] * 2
    assert written["run.simulated_us"] == [10.0, 10.0, 20.0, 20.0]


def test_without_pyarrow_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"--format parquet needs pyarrow .*; pip install 'openlanai\[parquet\]'"):
        tables.format_of("rows.parquet", None)


def test_an_ending_that_is_not_known_is_refused():
    told = "--rows 'rows.foo' ends with '.foo', which is not known; end it with .csv, .json, .parquet, or add --format"
    with pytest.raises(UserError, match=re.escape(told)):
        tables.format_of("rows.foo", None)
    asked = [("rows.foo", "csv"), ("rows.foo", "json"), ("/dev/stdout", None), ("ROWS.CSV", None), ("a.b/rows", None)]
    assert [tables.format_of(*one) for one in asked] == ["csv", "json", "csv", "csv", "csv"]
