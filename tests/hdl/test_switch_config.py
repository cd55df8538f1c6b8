"""A switch's parameters are checked."""

from typing import Any

import pytest

from lanai_hdl.errors import UserError
from lanai_hdl.switch_config import SwitchConfig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ports": 1}, "ports=1 must be a whole number from 2 to 16"),
        ({"ports": 4.0}, "ports=4.0 must be a whole number from 2 to 16"),
        ({"blocked_slots": True}, "blocked_slots=True must be a whole number from 0 to 2147483648"),
        ({"blocked_slots": -1}, "blocked_slots=-1 must be a whole number"),
        ({"barrier": True}, "barrier=True must be a mask of the 8 ports, a whole number from 0 to 255"),
        ({"barrier": 256}, "barrier=256 must be a mask of the 8 ports"),
    ],
)
def test_what_no_switch_can_have_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SwitchConfig(**change)
