"""The interface of host and NIC beyond that of the put firmware.

A request of kind BARRIER, an `Ask` as a question has, inverts the NIC's barrier bits that `operand`
names. No rank answers. When the switch's bits have changed, the NIC writes what it said last to
`result` of the last such request, and counts that as RECEIVED. A bit that is the NIC's own again
is a barrier that is passed. A tree that is lost counts as a fault.
"""

from lanai_firmware.lang import Const, u32
from lanai_hdl.barrier.csr import LOST as LOST_BIT

READY = 0x5055_4202  # in SCRATCH0: "PUB", version 2
BARRIER: Const[u32] = u32(6)  # beside `put.layout.Kind`
LOST: Const[u32] = u32(LOST_BIT)  # in the word at `result`
