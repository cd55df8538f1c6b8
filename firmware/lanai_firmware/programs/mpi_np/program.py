"""MPI-NP's firmware as one object."""

from ..base import Firmware
from . import state
from .layout import LAYOUT_MAGIC, LAYOUT_VERSION
from .plan import McpConfig, constants, effort, paper
from .sram import lay_out
from .trace import VOCABULARY

FIRMWARE = Firmware(
    name="mpi-np",
    module=f"{__package__}.main",
    memory=state.__name__,
    presets={"default": McpConfig, "paper": paper},
    lay_out=lay_out,
    ready=int(LAYOUT_MAGIC) | int(LAYOUT_VERSION),
    refused=int(LAYOUT_MAGIC),
    constants=constants,
    effort=effort,
    vocabulary=VOCABULARY,
)
