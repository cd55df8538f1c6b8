"""The constants that the thesis names, as ours are: read from what firmware, driver and gateware
themselves read. The setting of its experiments."""

from lanai_firmware.programs.mpi_np.layout import BLOCK, SLOTS
from lanai_firmware.programs.mpi_np.plan import OWN_POOLS, McpConfig, paper
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_firmware.programs.mpi_np.sram import lay_out
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.lbus.masters import HDMA, RECV, SEND
from lanai_hdl.machine import PAGE_SIZE
from lanai_host.config import pentium2_266
from lanai_host.config import thesis as hosts
from lanai_host.stacks.bip.options import BipOptions
from lanai_host.stacks.mpi_np.driver import PAGE_ENTRIES
from lanai_host.stacks.mpi_np.endpoint import LONG_SHARE
from lanai_host.stacks.mpi_np.pages import PER_ENTRY

from ...benches.core import half_memory_loop
from ...benches.p2p.pair import Setting

REPETITIONS = 5  # round trips a size on the page
BUFFERED = McpConfig(send_buffer=4608, eager_limit=2048)  # on 64 channels
DMA_ENGINES = (HDMA, RECV, SEND)  # masters of the LBUS
PAGE = 4096
SETTLE = 20_000_000_000  # picoseconds after which what can move has moved


def figures(quick: bool) -> dict[str, float]:
    nic, host = lanai41(), pentium2_266()
    image = FIRMWARE.image(nic)
    plan = lay_out(McpConfig(), 1, OWN_POOLS, image.free, min(nic.sram_size, image.stack_bottom)).plan
    buffered = FIRMWARE.image(nic, BUFFERED)
    shares = lay_out(BUFFERED, 1, OWN_POOLS, buffered.free, min(nic.sram_size, buffered.stack_bottom)).plan
    return {
        "design.channels": most_channels(),
        "design.sram_bytes": nic.sram_size,
        "design.receive_bytes_per_channel": plan["blocks_per_channel"] * int(BLOCK),
        "design.send_bytes_per_channel": BUFFERED.send_buffer,
        "design.buffer_bytes_per_channel": BUFFERED.send_buffer + shares["blocks_per_channel"] * int(BLOCK),
        "design.message_slots": plan["messages_per_channel"],
        "design.sends_ahead_per_channel": LONG_SHARE[1],
        "design.request_slots": int(SLOTS),
        "design.page_entries": PAGE_ENTRIES * PER_ENTRY,
        "design.autonomous_bytes": (PAGE_ENTRIES - 1) * PER_ENTRY * PAGE_SIZE,
        "design.pages_per_entry": PER_ENTRY,
        "design.pages_per_entry_first": host.but(pages_per_entry=1).pages_per_entry,
        "design.repetitions": REPETITIONS,
        "design.page_bytes": PAGE_SIZE,
        "design.pio_threshold": host.pio_threshold,
        "design.bip_short": BipOptions().short,
        "design.dma_engines": len(DMA_ENGINES),
        "design.np_mhz": nic.slot_khz / 2000,
        "design.link_gbitps": nic.link_kbytes * 8 / 1e6,
        "design.memory_share_percent": 100 * memory_share(half_memory_loop()),
        "design.acks_per_message": 1 / paper().ack_slots,
    }


def most_channels() -> int:
    """The largest world whose ranks each have a channel with a pool of its own on one rank's NIC."""
    nic = lanai41()
    image = FIRMWARE.image(nic)
    most = 0
    for ranks in range(1, 2 * OWN_POOLS):
        try:
            layout = lay_out(McpConfig(), 1, ranks, image.free, min(nic.sram_size, image.stack_bottom))
        except UserError:
            return most
        if layout.plan["pools"]:
            return most
        most = ranks
    return most


def memory_share(code: bytes) -> float:
    """Return the share of a program's instructions that loads or stores."""
    from lanai_hdl.isa import decode

    words = [int.from_bytes(code[at : at + 4], "big") for at in range(0, len(code), 4)]
    found = [instruction for word in words if (instruction := decode(word)) is not None]
    loop = found[1:]  # the first one runs once
    return sum(i.format.name in ("RM", "RRM", "SPLS", "SLS") for i in loop) / len(loop)


def thesis() -> Setting:
    """Return the gateware with the thesis's policies: pages pinned and unpinned for every message (NP-49), every
    message acknowledged (NP-16), small ones sent without credit (NP-24), a mark for each page entry used (NP-46),
    receives that ask their sender (NP-22), bodies written only into an empty channel (NP-43), and a round trip that
    sends first and then posts its receive (NP-B1)."""
    return Setting(hosts(), paper().but(mark_entries=1), send_first=True)
