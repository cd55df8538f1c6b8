"""Experiments that are programs of their own: they watch what hosts and NICs do for each message."""

from lanai_firmware.programs.mpi_np.layout import BLOCK, SLOTS
from lanai_firmware.programs.mpi_np.plan import OWN_POOLS, McpConfig, paper
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_firmware.programs.mpi_np.sram import lay_out
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.lbus.masters import HDMA, RECV, SEND
from lanai_hdl.machine import PAGE_SIZE, host_offset
from lanai_host.config import pentium2_266
from lanai_host.config import thesis as hosts
from lanai_host.device import SendMode
from lanai_host.stacks.bip.attachment import BipOptions
from lanai_host.stacks.mpi_np.driver import PAGE_ENTRIES
from lanai_host.stacks.mpi_np.endpoint import LONG_SHARE
from lanai_host.stacks.mpi_np.share import PER_ENTRY

from ...benches.core import half_memory_loop
from ...benches.p2p import stages, traffic
from ...benches.p2p.pair import PAUSE, Buffer, Setting, Side, play
from ...sweeps import patterns
from ...sweeps.point import nic_at
from ..claims import Figures

# The constants that the thesis names, as ours are: read from what firmware, driver and gateware
# themselves read. The setting of its experiments.

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


def transfers(quick: bool) -> Figures:
    """Return how many host DMA transfers the sending NIC does for each further page, by version
    (NP-46)."""
    figures: Figures = {}
    done = host_offset("HDMA_DONE")
    for name, pages_per_entry in (("first", 1), ("second", 4)):
        base = thesis()

        def run(side: Side) -> dict[int, int]:
            counts = {}
            for pages in (8, 16):
                buffer = Buffer(pages * PAGE)
                side.meet()
                operation = side.receive(buffer) if side.rank else None
                side.meet()
                before = side.bus.read(done)
                if operation is None:
                    operation = side.send(buffer)
                side.compute(SETTLE)
                counts[pages] = side.bus.read(done) - before
                side.finish(operation)
            return counts

        counts = play(base.but(host=base.host.but(pages_per_entry=pages_per_entry)), run)[0]
        figures[f"version.{name}.host_dmas_per_page"] = (counts[16] - counts[8]) / 8
    return figures


def special_sends(quick: bool) -> Figures:
    """Host work of a synchronous and a ready send by the NIC, and of a synchronous one that the
    hosts would do by an answer."""

    def run(side: Side) -> Figures:
        figures: Figures = {}
        buffer, answer = Buffer(PAGE), Buffer(0)
        for name, mode in (
            ("standard", SendMode.STANDARD),
            ("synchronous", SendMode.SYNCHRONOUS),
            ("ready", SendMode.READY),
        ):
            for _ in range(2):  # the first one pins
                side.meet()
                operation = side.receive(buffer) if side.rank else None
                side.meet()
                begun = side.now
                if operation is None:
                    operation = side.send(buffer, mode=mode)
                placed = side.now
                side.meet()
                there = side.now
                side.finish(operation)
                figures[name] = (placed - begun + side.now - there) / 1e6
        side.meet()
        begun = side.now
        if side.rank:
            side.send(answer)
            figures["answer"] = (side.now - begun) / 1e6
        else:
            operation = side.receive(answer)
            placed = side.now
            side.meet()
            there = side.now
            side.finish(operation)
            figures["answer"] = (placed - begun + side.now - there) / 1e6
            return figures
        side.meet()
        return figures

    sender, receiver = play(Setting(), run)
    by_hosts = sender["standard"] + sender["answer"] + receiver["answer"]
    return {
        "special.host_us.standard": sender["standard"],
        "special.host_us.synchronous": sender["synchronous"],
        "special.host_us.ready": sender["ready"],
        "special.host_us.synchronous_by_hosts": by_hosts,
    }


def busy_channel(quick: bool) -> Figures:
    """Host overhead of small sends one right after the other, into one channel (NP-43)."""
    return small_sends()


def small_sends(**host: int) -> Figures:
    """The same with choices of the host."""

    def run(side: Side) -> list[float]:
        buffer, spent = Buffer(4), []
        posted = [side.receive(buffer) for _ in range(16)] if side.rank else []
        side.meet()
        sent = []
        for _ in range(0 if side.rank else 16):
            begun = side.now
            sent.append(side.send(buffer))
            spent.append((side.now - begun) / 1e6)
        side.finish(*posted, *sent)
        return spent

    base = Setting()
    spent = play(base.but(host=base.host.but(**host)), run)[0]
    return {f"busy.send_overhead_us.{number}": value for number, value in enumerate(spent, 1)}


def waiting_sends(setting: Setting) -> Figures:
    """Sends of 2 KB for which the receiver has no credit left: how many are done before it takes the first message,
    and how long it then takes for all (NP-39)."""
    count, size = 48, 2048

    def run(side: Side) -> tuple[int, float]:
        buffers = [Buffer(size) for _ in range(count)]
        side.meet()
        sent = [] if side.rank else [side.send(buffer) for buffer in buffers]
        for _ in range(count if sent else 0):
            side.compute(PAUSE)
            side.device.progress()
        done = sum(operation.done for operation in sent)
        side.meet()
        begun = side.now
        side.finish(*sent, *[side.receive(buffer) for buffer in buffers if side.rank])
        return done, (side.now - begun) / 1e6

    sender, receiver = play(setting, run)
    return {"done_ahead": sender[0], "drain_us": receiver[1]}


def independence(quick: bool) -> Figures:
    """Latency from one NIC to a second while its channel to a third is full (NP-07), and fairness
    over channels."""

    def run(side: Side) -> float:
        buffer, jam = Buffer(4), Buffer(1024)
        side.meet()
        stuck = [side.send(jam, 2) for _ in range(64)] if side.rank == 0 else []
        waits = side.receive(buffer, 0) if side.rank == 1 else None
        side.meet()
        side.compute(SETTLE)
        if side.rank == 0:
            side.stage.notes["began"] = side.now
            side.finish(side.send(buffer, 1))
        if waits is not None:
            side.finish(waits)
        end = side.now
        side.meet()
        if side.rank == 2:
            side.finish(*[side.receive(jam, 0) for _ in range(64)])
        side.finish(*stuck)
        began: int = side.stage.notes["began"]
        return (end - began) / 1e6

    jammed = play(Setting(), run, patterns.switch(3))[1]
    fair = patterns.measure_fairness({"pattern": "in", "size": 16384, "peers": 2 if quick else 8})
    return {"channels.latency_us.beside_a_full_one": jammed, "channels.jain": fair["jain"]}


# Thin or thick: the thesis's own question. The same hosts, NICs and programs, with BIP's firmware and with
# MPI-NP's.

SIZES = (4, 64, 200, 256, 260, 512, 1024, 2048, 4096, 16384, 65536)
LARGE = (262144,)
HIDDEN = (4, 1024, 65536)


def thin(setting: Setting) -> Setting:
    """The same machine with BIP."""
    return setting.but(thin=BipOptions())


def measure(quick: bool) -> Figures:
    """Latency, bandwidth and overhead as the thesis times them, on its hosts; what a program hides; and what a
    faster NIC brings."""
    sizes = SIZES if quick else SIZES + LARGE
    figures: Figures = {}
    for size, trip in traffic.trips(thin(thesis()), sizes, 1 if quick else 3).items():
        figures[f"bip.latency_us.{size}"] = trip.one_way
        figures[f"bip.send_overhead_us.{size}"] = trip.send
        figures[f"bip.bandwidth_MBps.{size}"] = trip.rate(size)
    figures |= below_mpi()
    for mhz in (33, 133):
        fast = traffic.trips(thin(Setting(nic=nic_at(mhz))), (4,), 3)
        figures[f"bip.clock_us.{mhz}"] = fast[4].one_way
    for name, setting in (("bip", thin(thesis())), ("thesis", thesis())):
        for size in HIDDEN:
            figures |= {f"{name}.{key}.{size}": value for key, value in traffic.lost(setting, size).items()}
    return figures


def below_mpi() -> Figures:
    """Four bytes by BIP alone, as far as that can be told apart: the library's work costs its hosts nothing. The NICs'
    part of it. And the same with MPI's prices, on a bus that is twice as fast."""
    chosen = thin(thesis())
    alone = chosen.but(host=chosen.host.but(call=0, match=0, complete=0, copy=0))
    parts = stages.cut(stages.watch(alone))
    quick_bus = chosen.but(nic=chosen.nic.but(host_bus_khz=2 * chosen.nic.host_bus_khz))
    return {
        "bip.alone_us.4": traffic.trips(alone, (4,), 3)[4].one_way,
        "bip.nic_us": parts.nic_send + parts.nic_receive,
        "bip.fast_bus_us.4": traffic.trips(quick_bus, (4,), 3)[4].one_way,
    }
