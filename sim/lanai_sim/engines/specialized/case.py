"""Values of registers that the code of an evaluation is specialized for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Moment(StrEnum):
    """The clocks of a model that rise together in an evaluation."""

    ALONE = "alone"  # the model's own: all blocks that may rest do
    AWAKE = "awake"  # the model's own, and those of all blocks that may rest
    INPUTS = "inputs"  # those with which all these blocks see their inputs, after the model's own


@dataclass(frozen=True)
class Case:
    """Values that registers often have together at a moment, by the names that the registers have in the
    gateware, in the order in which to compare them. The code of an evaluation is specialized for them."""

    name: str
    moment: Moment
    values: Mapping[str, int]

    @property
    def key(self) -> tuple[object, ...]:
        return (self.name, self.moment.value, *self.values.items())
