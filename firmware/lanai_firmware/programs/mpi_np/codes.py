"""Values of the fields `state` and `control` of the tables."""

from lanai_firmware.lang import Const, u32

RECEIVE_FREE: Const[u32] = u32(0)
RECEIVE_POSTED: Const[u32] = u32(1)  # in the expected list of its channel, or of all channels
RECEIVE_ARRIVING: Const[u32] = u32(3)  # posted, and its message is arriving: too late to cancel it
RECEIVE_PULLING: Const[u32] = u32(2)  # matched; its body is asked for, or about to be

MESSAGE_FREE: Const[u32] = u32(0)
MESSAGE_BODY: Const[u32] = u32(1)  # unclaimed, with its body in the heap
MESSAGE_PROMISE: Const[u32] = u32(2)  # unclaimed, the body waits at the sender (NP-21)
MESSAGE_TAKEN: Const[u32] = u32(3)  # taken by a matched probe, body in the heap
MESSAGE_LEAVING: Const[u32] = u32(4)  # claimed, its body on the way to the host

SEND_FREE: Const[u32] = u32(0)
SEND_WAITING: Const[u32] = u32(1)  # in its channel's private send ring
SEND_PARKED: Const[u32] = u32(2)  # announced by RECV_REQ, body still in the request slot
SEND_LEAVING: Const[u32] = u32(3)  # handed to the send DMA

JOB_FREE: Const[u32] = u32(0)
JOB_FETCHING: Const[u32] = u32(1)  # its first page entry is on the way
JOB_MOVING: Const[u32] = u32(2)
JOB_SLOT: Const[u32] = u32(3)  # the body lies in a request slot: one packet brings it
JOB_OWN: Const[u32] = u32(4)  # all on its way to a receive of the same rank, which completes first

# Channel.control: packets owed to the other side. One bit suffices for each, as a second would say
# the same.
OWE_ACK: Const[u32] = u32(1)
OWE_NACK: Const[u32] = u32(2)
OWE_TAKEN: Const[u32] = u32(4)
OWE_DROPPED: Const[u32] = u32(8)
OWE_SEEN: Const[u32] = u32(16)  # recovery: acknowledge packets
OWE_GAP: Const[u32] = u32(32)  # recovery: ... and ask for those that are missing
OWE_SEARCH: Const[u32] = u32(64)  # the question of the receive that is asking

# SEND_REQs and SEARCH_REQs that a channel may have unanswered; the other side keeps a job for each
PULLS: Const[u32] = u32(2)
