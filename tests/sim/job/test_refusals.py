"""What a run with NICs cannot do is refused before a model of them is built, which can take a
minute."""

import pytest

from lanai_host.errors import UserError
from lanai_sim.engines import rtl
from lanai_sim.job.config import RunConfig
from lanai_sim.job.launcher import run
from lanai_sim.job.nic_world import NicWorld


@pytest.mark.parametrize("device", ["t3d", "sci"])
def test_a_device_whose_packets_no_trace_shows(device, monkeypatch, tmp_path):
    monkeypatch.setattr(rtl, "build", None)
    trace = tmp_path / "no.trace"
    with pytest.raises(UserError, match=f"--trace cannot show the packets of the device '{device}'"):
        run(RunConfig(("true",), 2, device, trace=str(trace)), NicWorld)
    assert not trace.exists()
