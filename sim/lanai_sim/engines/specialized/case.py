"""Values of registers that the code of an evaluation is specialized for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Moment(StrEnum):
    """A part of an evaluation that is done at once, by the clocks of a model that rise.

    With all blocks awake an evaluation has three moments, each with copies of its own: `OWN`, `STATE`, `INPUTS`. What
    the NIC does says little of what a block does, and logic may have other usual values than what sets its registers.
    """

    ALONE = "alone"  # the model's own: all blocks that may rest do
    OWN = "own"  # the model's own, without what follows other clocks too
    STATE = "state"  # those of all blocks that may rest, after the model's own
    INPUTS = "inputs"  # those with which all these blocks see their inputs, after all others


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
