"""The NIC's registers as the firmware names them; addresses come from the machine's one declaration."""

from lanai_firmware.lang import Const, register, u32
from lanai_hdl.machine import Event, HostDmaStart, SendStart, Status, Verdict, local_address

ISR = register(u32, local_address("ISR"))
WAIT = register(u32, local_address("WAIT"))
DOORBELL = register(u32, local_address("DOORBELL"))
SCRATCH0 = register(u32, local_address("SCRATCH0"))
CYCLES = register(u32, local_address("CYCLES"))
TIMER = register(u32, local_address("TIMER"))

HDMA_HOST = register(u32, local_address("HDMA_HOST"))
HDMA_LOCAL = register(u32, local_address("HDMA_LOCAL"))
HDMA_LENGTH = register(u32, local_address("HDMA_LENGTH"))
HDMA_START = register(u32, local_address("HDMA_START"))
HDMA_STATUS = register(u32, local_address("HDMA_STATUS"))
HDMA_DONE = register(u32, local_address("HDMA_DONE"))

SEND_ROUTE = register(u32, local_address("SEND_ROUTE"))
SEND_POINTER = register(u32, local_address("SEND_POINTER"))
SEND_LENGTH = register(u32, local_address("SEND_LENGTH"))
SEND_START = register(u32, local_address("SEND_START"))
SEND_STATUS = register(u32, local_address("SEND_STATUS"))
SEND_DONE = register(u32, local_address("SEND_DONE"))

RECV_POINTER = register(u32, local_address("RECV_POINTER"))
RECV_LIMIT = register(u32, local_address("RECV_LIMIT"))
RECV_STATUS = register(u32, local_address("RECV_STATUS"))
RECV_LENGTH = register(u32, local_address("RECV_LENGTH"))
RECV_BUFFER = register(u32, local_address("RECV_BUFFER"))
RECV_VERDICT = register(u32, local_address("RECV_VERDICT"))

EVENT_HDMA: Const[u32] = u32(int(Event.HOST_DMA_DONE))
EVENT_SEND: Const[u32] = u32(int(Event.SEND_DONE))
EVENT_RECV: Const[u32] = u32(int(Event.RECV_DONE))
EVENT_TIMER: Const[u32] = u32(int(Event.TIMER))
EVENT_DOORBELL: Const[u32] = u32(int(Event.DOORBELL))

TO_SRAM: Const[u32] = u32(int(HostDmaStart.TO_SRAM))
TO_HOST: Const[u32] = u32(int(HostDmaStart.TO_HOST))
FIRST: Const[u32] = u32(int(SendStart.FIRST))
LAST: Const[u32] = u32(int(SendStart.LAST))
FREE: Const[u32] = u32(int(Status.FREE))
VALID: Const[u32] = u32(int(Verdict.VALID))
