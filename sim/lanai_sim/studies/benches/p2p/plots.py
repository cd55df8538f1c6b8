"""The thesis's figures drawn anew from ours: 3.3, 3.4, 4.2 .. 4.6."""

from collections.abc import Mapping

from ...drawing import Plot

STAGES = ("host_send", "nic_send", "wire", "nic_receive", "host_receive")
WAYS = {"pio": "PIO", "dma": "DMA, pinning each", "dma_kept": "DMA, pages stay pinned"}


def by_size(figures: Mapping[str, float], prefix: str) -> dict[float, float]:
    """The figures prefix.SIZE, by size."""
    return {
        float(name[len(prefix) + 1 :]): value
        for name, value in figures.items()
        if name.startswith(f"{prefix}.") and name[len(prefix) + 1 :].replace(".", "", 1).isdigit()
    }


def of(figures: Mapping[str, float]) -> dict[str, Plot]:
    """All plots for which there are figures, by file name."""
    found = {
        "fig3-3-pio-dma-latency": _ways(figures, "latency", "Latency by way into the NIC (thesis fig. 3.3)"),
        "fig3-3-pio-lines": Plot(
            "Send overhead by PIO, word by word: cache lines show (thesis fig. 3.3)",
            "bytes",
            "us",
            {"PIO": by_size(figures, "p2p.pio_line_us")},
        ),
        "fig3-4-pio-dma-send-overhead": _ways(figures, "send_overhead", "Send overhead by way (thesis fig. 3.4)"),
        "fig3-4-pio-dma-receive-overhead": _ways(
            figures, "receive_overhead", "Receive overhead by way (thesis fig. 3.4)"
        ),
        "fig4-2-bandwidth": Plot(
            "One-way bandwidth (thesis fig. 4.2)",
            "bytes",
            "MB/s",
            {
                "one message to and fro": by_size(figures, "p2p.bandwidth_MBps"),
                "several at once": by_size(figures, "p2p.stream_MBps"),
            },
            marks={"thesis peak": 70},
            log="x",
        ),
        "fig4-3-send-overhead": Plot(
            "Host overhead of a send (thesis fig. 4.3)",
            "bytes",
            "us",
            {"here": by_size(figures, "p2p.send_overhead_us")},
            marks={"thesis, later interface": 4},
            log="x",
        ),
        "fig4-4-latency": Plot(
            "Latency of small messages (thesis fig. 4.4)",
            "bytes",
            "us",
            {"here": {s: v for s, v in by_size(figures, "p2p.latency_us").items() if s <= 1024}},
            marks={"thesis, 4 bytes": 68},
        ),
        "fig4-5-break-down": Plot(
            "Where the time of 4 bytes goes (thesis fig. 4.5)",
            "us",
            "",
            bars=_stages(figures),
        ),
        "fig4-6-slowdown": Plot(
            "The NIC's processor beside DMA (thesis fig. 4.6)",
            "slots of an edge taken, %",
            "speed",
            {
                "one edge": by_size(figures, "p2p.np_speed.one_edge"),
                "both edges": by_size(figures, "p2p.np_speed.two_edges"),
            },
        ),
    }
    return {name: plot for name, plot in found.items() if any(plot.lines.values()) or plot.bars}


def _ways(figures: Mapping[str, float], kind: str, title: str) -> Plot:
    lines = {label: by_size(figures, f"p2p.{way}_{kind}_us") for way, label in WAYS.items()}
    return Plot(title, "bytes", "us", lines, log="xy")


def _stages(figures: Mapping[str, float]) -> dict[str, dict[str, float]]:
    stages = {stage: figures[f"p2p.stage_us.{stage}"] for stage in STAGES if f"p2p.stage_us.{stage}" in figures}
    return {"message": {name.replace("_", ", "): value for name, value in stages.items()}} if stages else {}
