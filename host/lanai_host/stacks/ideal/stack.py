"""The `ideal` device as a messaging system: ranks exchange messages through shared memory, and no
NIC is simulated."""

from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ...orders import Orders, orders_of
from ...simulator.client import SimulatorClient
from ...simulator.protocol import ENV_DEVICE
from ...simulator.rank_transport import RankTransport
from ...simulator.transport import TransportHub
from ..base import Stack
from .options import IdealOptions, unlimited


class IdealStack(Stack):
    name = "ideal"
    help = (
        "no NIC: a message costs a latency and its time on the link; the upper bound, and the fast way to run a program"
    )
    presets = {"default": IdealOptions, "unlimited": unlimited}
    options_table = "ideal"
    spares_serve_again = True

    def network(self, ranks: int, options: IdealOptions, limit: int, started: int | None = None) -> TransportHub:
        return TransportHub(ranks, options.latency, options.byte_time, limit, started)

    def open(self, client: SimulatorClient, costs: HostConfig) -> Device:
        from .device import IdealDevice
        from .fast_path import IdealFastPath
        from .writes import IdealWrites

        if client.transport is None:
            raise UserError(f"{ENV_DEVICE}=ideal, but the simulator runs NICs; start with `lanai run`")
        orders = orders_of(client.rank)
        if orders is not None and isinstance(client.transport, RankTransport):
            return self._choosing(client, client.transport, costs, orders)
        device = IdealDevice(client.rank, client.size, client.transport, costs)
        if isinstance(client.transport, RankTransport):
            device.fast_path = IdealFastPath(device, client.transport, costs)
            writes = IdealWrites(client.transport, device.pay, client.size)
            device.offer(writes, writes.collect)
        return device

    def _choosing(self, client: SimulatorClient, transport: RankTransport, costs: HostConfig, orders: Orders) -> Device:
        from .choosing import ChoosingDevice
        from .writes import IdealWrites

        writes = IdealWrites(transport, lambda: device.pay(), client.size)
        device = ChoosingDevice(client.rank, client.size, transport, writes.collect, costs, orders)
        device.writes = writes
        return device


STACK = IdealStack()
