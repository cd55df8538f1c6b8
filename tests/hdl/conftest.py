"""The formal runner, which the tests of gateware share."""

import pytest


@pytest.fixture
def prove(lanai_prove):
    """`prove(spec, mode="prove", depth=2)`: the assertions inside a component without ports hold,
    by induction or (`bmc`) for depth steps."""
    return lanai_prove
