"""NICs by name: those of the gateware's own, and those that stand for the machine of a paper.

Whatever a paper does not say of its machine is fitted to what it measured; a comment says on which of its claims.
"""

from collections.abc import Callable, Mapping

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.config import PRESETS as OWN
from lanai_hdl.config import NicConfig
from lanai_hdl.remote.config import Remote


def t3d() -> NicConfig:
    """A node of the Cray T3D (Brightwell and Skjellum 1996), as far as our NIC can stand for its network interface.

    The paper has no numbers of the hardware but a torus of at most 2048 nodes. The clock of 150 MHz and 300 MB/s a link
    are those of the machine as Cray sold it.
    """
    return NicConfig(
        slot_khz=150_000,  # the clock of the node's Alpha 21064; our processor does an instruction in two
        link_kbytes=300_000,  # one direction of a link
        host_bus_khz=51_200,  # chosen, with the two below: 32 bytes in 13 clocks, the 126 MB/s of t3d.s4.peak_derived
        max_burst=32,  # a line of the Alpha 21064's cache, the unit of a put on the T3D
        read_setup=5,  # chosen, as above
        write_setup=5,  # chosen, as above
        pio_write_setup=5,
        pio_line=32,
    )


def t3d_barrier() -> NicConfig:
    """The same with the machine's barrier tree: 16 bits a node, which switches combine."""
    return t3d().but(blocks=(BarrierTree(),))


def t3d_shell() -> NicConfig:
    """The same with the remote-memory adapter as the machine's shell. `t3d-1996` has it, and the study of the paper.

    Stores go through four stream buffers of a line, as the Alpha 21064's write buffer has them, a line a packet. Gets
    ask for 8 bytes a packet, as its prefetches do. The adapter works on its packets one after the other, so the bus
    must be faster than what it carries.
    """
    return t3d().but(
        host_bus_khz=84_000,  # fitted on t3d.s4.large_bandwidth
        blocks=(Remote(payload=32, read_bytes=8, pages=512, peers=256, streams=4, stream_bytes=32),),
    )


def t3e() -> NicConfig:
    """The T3E, of which the paper says how it differs for software;

    its speed is not modelled. `--option preset=t3e` has the rest.
    """
    return t3d()


def mbcf_100baset() -> NicConfig:
    """The network interface of MPI/MBCF's workstations (Morimoto 1999): 100BASE-TX.

    What the paper's kernel does in software, the adapter does; `--host supersparc_85` has its costs. A frame holds the
    whole message of 1024 bytes with its head, as theirs (of 1408 bytes) does.
    """
    return NicConfig(
        slot_khz=25_000,  # the SBus
        host_bus_khz=25_000,
        link_kbytes=12_500,
        sram_size=128 * 1024,
        max_burst=2048,
        blocks=(Remote(payload=2048, pages=512),),  # the most: MBCF has no such limit
    )


def ethernet10() -> NicConfig:
    """A workstation of the CCU MPI's measurements (Chang, Ding and Tsay 1996): SunOS 4.1.3 on an Ethernet of 10 Mbit/s.

    The NIC's processor stands for the daemon's process. That takes hundreds of microseconds for a packet, most of them
    in the kernel, so the processor is slow; `work` of the device's preset `ethernet` is the rest. The paper has no
    numbers of its machines but the rate of the wire.
    """
    return NicConfig(
        slot_khz=8_000,  # chosen: with it the daemon's instructions are most of what a packet costs it
        link_kbytes=1_250,  # ccu.s5_3.network
        host_bus_khz=8_000,  # memory that library and daemon share: 23 MB/s for writes of a line. Chosen
        recv_queue=64,  # the option `system_buffer` says how much of it SunOS has (ccu.s3.system_buffer)
        completions=64,
    )


def sci_d330() -> NicConfig:
    """A Dolphin D330 adapter (Worringen and others 2002), as far as our NIC can stand for it: a link of 16 bits on both
    edges of 166 MHz, and a PCI of 64 bits at 66 MHz."""
    return NicConfig(
        slot_khz=166_000,  # the link's clock: a flit of 4 bytes a slot is sci.s5_3.ring_166
        link_kbytes=664_000,
        host_bus_khz=132_000,  # 32 bits at twice the clock carry what 64 bits at sci.s2.pci_clock do
        max_burst=128,  # SCI's longest packets carry 128 bytes
        # Of commands alone: fitted on sci.table2.min_use.per_node without MPI, by puts of the adapter. MPI stores, and
        # is not moved by it: 115.8 MiB/s a node of 4 with 56, 115.9 with 5.
        read_setup=56,
        pio_write_setup=9,  # fitted on the best of sci.s4_3.strided_write_256
        link_latency=16,  # fitted on the best of sci.s4_3.strided_write_8: four stores are acknowledged in 1.09 us
        rx_fifo=256,
        # Four streams with one packet of at most 128 bytes each: sci.s4_3.strided_write_8 is four times its worst. A
        # packet that comes in takes the bus for 50 slots; a stream must not leave half full meanwhile.
        blocks=(Remote(payload=128, pages=512, streams=4, stream_bytes=128, stream_slots=64),),
    )


def sci_d330_200() -> NicConfig:
    """The same with the link at 200 MHz (sci.s5_3.ring_200)."""
    return sci_d330().but(slot_khz=200_000, link_kbytes=800_000)


PRESETS: Mapping[str, Callable[[], NicConfig]] = {
    **OWN,
    "t3d": t3d,
    "t3d_barrier": t3d_barrier,
    "t3d_shell": t3d_shell,
    "t3e": t3e,
    "mbcf_100baset": mbcf_100baset,
    "ethernet10": ethernet10,
    "sci_d330": sci_d330,
    "sci_d330_200": sci_d330_200,
}
