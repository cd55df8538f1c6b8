"""MPI/MBCF as a messaging system: `lanai run --device mbcf`."""

from ...adapter.attachment import Attachment
from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ..on_adapter import AdapterStack
from .options import MbcfOptions


class MbcfStack(AdapterStack):
    name = "mbcf"
    help = (
        "MPI/MBCF (1999): remote writes to receives that were posted first, FIFOs in the receiver's memory for the rest"
    )
    presets = {"sr": MbcfOptions, "nsr": lambda: MbcfOptions(requests=0)}
    options_table = "mbcf"

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig) -> Device:
        from .device import Mbcf

        return Mbcf(bus, attachment, costs)


STACK = MbcfStack()
