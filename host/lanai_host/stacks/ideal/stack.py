"""The `ideal` device as a messaging system: ranks exchange messages through shared memory, and no
NIC is simulated."""

from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ...simulator.client import Portal
from ...simulator.mail import PostOffice
from ...simulator.protocol import ENV_DEVICE
from ..base import Stack
from .options import IdealOptions, unlimited


class IdealStack(Stack):
    name = "ideal"
    help = (
        "no NIC: a message costs a latency and its time on the link; the upper bound, and the fast way to run a program"
    )
    presets = {"default": IdealOptions, "unlimited": unlimited}
    options_table = "ideal"

    def network(self, ranks: int, options: IdealOptions, limit: int) -> PostOffice:
        """What carries the messages of a run, until `limit` picoseconds."""
        return PostOffice(ranks, options.latency, options.byte_time, limit)

    def open(self, portal: Portal, costs: HostConfig) -> Device:
        from .device import IdealDevice
        from .fast_path import QuickIdeal

        if portal.mail is None:
            raise UserError(f"{ENV_DEVICE}=ideal, but the simulator runs NICs; start with `lanai run`")
        device = IdealDevice(portal.rank, portal.size, portal.mail, costs)
        device.quick = QuickIdeal(device, portal.mail, costs)
        return device


STACK = IdealStack()
