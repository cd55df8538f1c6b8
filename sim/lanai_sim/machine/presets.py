"""NICs by name: those of the gateware's own, and those that stand for the machine of a paper.

Whatever a paper does not say of its machine is fitted to what it measured; a comment says on which of its claims.
"""

from collections.abc import Callable, Mapping

from lanai_hdl.config import PRESETS as OWN
from lanai_hdl.config import NicConfig


def t3d() -> NicConfig:
    """A node of the Cray T3D (Brightwell and Skjellum 1996), as far as our NIC can stand for its network interface.

    The paper has no numbers of the hardware but a torus of at most 2048 nodes. The clock of 150 MHz and 300 MB/s a link
    are those of the machine as Cray sold it.
    """
    return NicConfig(
        slot_khz=150_000,  # the clock of the node's Alpha 21064; our processor does an instruction in two
        link_kbytes=300_000,  # one direction of a link
        host_bus_khz=51_200,  # with the two below: 32 bytes in 13 clocks, 126.0 MB/s. Fitted on t3d.s4.peak_derived
        max_burst=32,  # a line of the Alpha 21064's cache, the unit of a put on the T3D
        read_setup=5,  # fitted, as above
        write_setup=5,  # fitted, as above
        pio_write_setup=5,
        pio_line=32,
    )


def t3e() -> NicConfig:
    """The T3E, of which the paper says how it differs for software;

    its speed is not modelled. `--option preset=t3e` has the rest.
    """
    return t3d()


PRESETS: Mapping[str, Callable[[], NicConfig]] = {**OWN, "t3d": t3d, "t3e": t3e}
