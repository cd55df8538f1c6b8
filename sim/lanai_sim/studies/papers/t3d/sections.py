"""The paper's figures, in its order."""

from ..page import Section

SECTIONS = (
    Section(
        "Figure 6: small messages",
        plots={
            "fig6-latency": (
                "Half a round trip of `mpptest`, from 0 to 1,024 bytes. The paper prints no latency, only that its "
                "curve is erratic; ours is smooth, as nothing else runs on simulated nodes."
            )
        },
    ),
    Section(
        "Figure 7: medium messages",
        plots={
            "fig7-medium": (
                "Bytes over half a round trip, from 10,000 to 200,000 bytes. The paper prints its level from 100,000 "
                "bytes on, to which the host's price `call` is fitted. The second line is what the paper's two levels "
                "say of a message of any size."
            )
        },
    ),
    Section(
        "Figure 8: large messages",
        plots={
            "fig8-large": (
                "The same from 1 to 5 MB. The clock of the host bus is fitted on the paper's level, so the agreement "
                "says nothing."
            )
        },
    ),
)
