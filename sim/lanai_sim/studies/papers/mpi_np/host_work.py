"""Experiments that are programs of their own: they watch what hosts and NICs do for each message."""

from lanai_hdl.machine import host_offset
from lanai_host.device import SendMode

from ...benches.p2p.pair import PAUSE, Buffer, Setting, Side, play
from ...sweeps import fairness
from ..measuring import Figures
from .constants import PAGE, SETTLE, thesis


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

    jammed = play(Setting(), run, fairness.switch(3))[1]
    fair = fairness.measure({"pattern": "in", "size": 16384, "peers": 2 if quick else 8})
    return {"channels.latency_us.beside_a_full_one": jammed, "channels.jain": fair["jain"]}
