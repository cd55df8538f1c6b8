"""The thesis's figures, in its order."""

from ..sections import Grid, Section

SECTIONS = (
    Section(
        "Figures 3.3 and 3.4: programmed writes against DMA",
        plots={
            "fig3-3-pio-dma-latency": (
                "Latency of a small message by its way into the NIC. DMA begins to win where the curves cross: in the "
                "thesis below the crossing by send overhead, here above it."
            ),
            "fig3-3-pio-lines": (
                "Send overhead by programmed writes, word by word. Combined writes end at cache lines, hence the "
                "steps of 32 bytes."
            ),
            "fig3-4-pio-dma-send-overhead": (
                "Host overhead of a send by its way, with the thesis's crossing at 1,024 bytes. The price of pinning a "
                "page is fitted on it, and on nothing else."
            ),
            "fig3-4-pio-dma-receive-overhead": (
                "Host overhead of a receive by its way. Reading the NIC's memory costs more than DMA from some words "
                "on; in the thesis it does at all sizes."
            ),
        },
    ),
    Section(
        "Figures 4.2 to 4.4: bandwidth, overhead, latency",
        plots={
            "fig4-2-bandwidth": (
                "One-way bandwidth, with the thesis's peaks of both versions. Pinning sets the pace; with pages kept "
                "pinned the host bus does."
            ),
            "fig4-3-send-overhead": (
                "Host overhead of a send. It follows the words up to the threshold of 1,024 bytes, then the pages "
                "that are pinned."
            ),
            "fig4-4-latency": (
                "Latency of small messages, with the one number that the thesis prints. Ours is far below it."
            ),
        },
    ),
    Section(
        "Figures 4.5 and 4.6: where the time goes",
        plots={
            "fig4-5-break-down": (
                "The parts of the latency of 4 bytes. In the thesis the NICs' computation is three quarters of 68 us."
            ),
            "fig4-6-slowdown": (
                "The speed of code that is half memory accesses, beside DMA. One engine slows it by half, two stop it, "
                "as in the thesis."
            ),
        },
    ),
    Section(
        "Section 3.6: packets passed on",
        plots={
            "np51-cut-through": (
                "Latency with packets passed on as they come, as in Trapeze, and as whole packets. A page gains most."
            )
        },
    ),
    Section(
        "Section 4.4: a processor of 133 MHz",
        says="At 33 MHz by the thesis's policies, at 133 MHz by the project's defaults.",
        grids=(
            Grid(
                ("the NICs' part of a small message, us", "33 MHz", "133 MHz"),
                {"published / ours": ("s4_3.nic_time_derived", "s4_4.r4300_nic_time")},
            ),
        ),
    ),
)
