"""Results as JSON and traces, read for a comparison."""

import json

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.job.job import Job
from lanai_sim.report import outcome

PROGRAM = ("python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")


def test_a_result_as_json(tmp_path):
    path = tmp_path / "a.json"
    figures = {"run.simulated_us": 1.5, "run.pio_us": 1, "run.waiting_us": 2}
    config = {"program": ["python", "x.py"], "host": {"kernel": {"wake": 3}}, "ranks": 2}
    path.write_text(json.dumps({"figures": figures, "config": config, "commit": "abc"}))
    found = outcome.read(str(path))
    assert (found.traced, found.program, found.figures) == (False, ("python", "x.py"), figures)
    assert found.settings == {"host.kernel.wake": 3, "ranks": 2, "commit": "abc"}
    assert found.parts == {"run.pio_us", "run.waiting_us"}


def test_a_trace(tmp_path):
    path = tmp_path / "a.trace"
    result = Job(PROGRAM, 2).run(trace=path).check()
    found = outcome.read(str(path))
    assert (found.traced, found.program) == (True, PROGRAM)
    assert found.figures[outcome.SIMULATED] == result.figures[outcome.SIMULATED]
    assert found.figures["MPI_Barrier, calls"] == 2
    assert found.figures["MPI_Barrier, us"] > 0
    assert found.figures["messages"] == sum(value for name, value in found.figures.items() if name.endswith(", count"))
    assert sum(found.figures[name] for name in found.parts) == pytest.approx(sum(result.clocks) / 1e6)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"figures": {}}', '{"figures": 3, "config": {}}', "\x00\xff"])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UserError, match="is neither a trace nor a result with figures and config"):
        outcome.read(str(path))


def test_a_missing_file_is_named():
    with pytest.raises(UserError, match="cannot read 'nowhere': No such file"):
        outcome.read("nowhere")
