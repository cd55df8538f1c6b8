"""The NIC as firmware sees it: the driver layer that all programs share.

registers     addresses, flags and events, from the machine's one declaration
host_dma      copies between SRAM and host memory
send_dma      packets out
receive_dma   packets in
events        events, doorbell, waiting
timer         EVENT_TIMER
window        the host memory that a rank may name
model         a NIC in plain Python, for firmware that runs as plain Python
"""
