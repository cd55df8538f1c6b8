"""NICs in plain Python, for firmware that runs as plain Python: registers, DMA engines, wires. Not
firmware.

Nothing has a duration. The caller decides which engine acts next (`Fabric.actions`), so a test can
force or search any order of events. `Fabric.run` takes a fixed fair order.
The engines obey the contract in `lanai_hdl.machine`, with the queues of a `NicConfig`.
"""

from .fabric import Fabric
from .nic import HostMemory, Nic, Packet

__all__ = ["Fabric", "HostMemory", "Nic", "Packet"]
