"""Table 2 on simulated rings."""

import pytest

from lanai_sim.studies.papers import claims
from lanai_sim.studies.papers.sci import ringlet


@pytest.mark.slow
def test_table_2():
    """The model agrees with the paper: minimum use within 3 %, maximum use within 8 %. Throughput rises
    with the link's clock."""
    found = ringlet.figures()
    theirs = {claim.id: claim for claim in claims.load("sci")}
    for use, least in (("min_use", 0.03), ("max_use", 0.08)):
        values = theirs[f"sci.table2.{use}.per_node"].values
        for nodes, value in zip(ringlet.NODES, values, strict=True):
            assert found[f"ring.{nodes}.{use}_mibps"] == pytest.approx(value, rel=least), (use, nodes)
    assert found["ring.clock_ratio"] == pytest.approx(theirs["sci.s5_3.linear_with_clock"].value, rel=0.01)
