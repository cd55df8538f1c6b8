"""The common base of messaging systems on the remote-memory adapter: NICs that have one and no firmware, and their
boot.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.csr import ENABLE
from lanai_hdl.remote.packets import MOST_PEERS, REQUEST_WORDS
from lanai_hdl.remote.parameters import MOST_PROCESSES
from lanai_hdl.remote.tables import DIRECTORY_PAGES

from ..adapter.boot import MOST_TIMEOUT, RETRIES, TIMEOUT, WINDOW, boot, register
from ..adapter.opened import OWN_PAGES
from ..adapter.operation import Attachment, Place
from ..bus.base import PAGE_SIZE, Bus
from .base import NicStack, Placement
from .health import RESET, tell
from .loader import check_machine, reset

if TYPE_CHECKING:
    from lanai_firmware.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig

# An adapter with an aperture that the machine does not describe. A stream waits for longer than a packet that comes
# in takes the bus.
APERTURE = Remote(streams=4, stream_bytes=128, stream_slots=1024)


class AdapterStack(NicStack):
    """Ranks use the adapters of their NICs, and nothing else of them."""

    attachment: ClassVar[type[Attachment]] = Attachment  # how `boot` makes it, and `open` finds it again

    @property
    def needs(self) -> str:
        return "NICs with the remote-memory adapter"

    @property
    def vocabulary(self) -> "Vocabulary":
        from ..adapter.trace import VOCABULARY

        return VOCABULARY

    def plans(self, image: None, nic: "NicConfig", options: Any, placement: Placement) -> Sequence[Mapping[str, Any]]:
        """The rank of each process of a node, and the most bytes of a packet."""
        payload = self.adapter(placement).payload
        return [{"ranks": placement.ranks_on(node), "payload": payload} for node in range(placement.nodes)]

    def stores(self, options: Any) -> bool:
        """Does the processor store the bytes of messages itself, through the adapter's aperture?"""
        return False

    def equip(self, nic: "NicConfig") -> "NicConfig":
        if adapter_in(nic) is not None:
            return nic
        return nic.but(blocks=(*nic.blocks, Remote()))

    def sized(self, nic: "NicConfig", nodes: int, ranks: int) -> "NicConfig":
        """The NICs of `equip`. An adapter with the default number of peers knows as many NICs as there are, up to a
        power of two, so that jobs of similar sizes share a model.
        """
        nic = self.equip(nic)
        adapter = adapter_in(nic)
        if adapter is None or adapter.peers != Remote.peers or nodes <= adapter.peers:
            return nic
        larger = replace(adapter, peers=min(MOST_PEERS, 1 << (nodes - 1).bit_length()))
        return nic.but(blocks=tuple(larger if one is adapter else one for one in nic.blocks))

    def check(self, options: Any, placement: Placement) -> None:
        self.adapter(placement)

    def boot(self, bus: Bus, image: None, options: Any, placement: Placement, node: int) -> Mapping[int, Attachment]:
        adapter = self.adapter(placement)
        check_machine(bus)
        reset(bus)
        routes = {peer: placement.route(node, peer) for peer in range(placement.nodes)}
        timeout = self.timeout(options, placement.nic) or timeout_on(placement.nic, adapter, placement.passage)
        boot(bus, adapter, node, routes, timeout=timeout, retries=self.retries(options), together=True)
        places = places_of(placement)
        return {rank: self.attachment(rank, places, adapter, asdict(options)) for rank in placement.ranks_on(node)}

    def examine(
        self, bus: Bus, attachment: Attachment, place: Callable[[int], str], before_reset: Callable[[], None]
    ) -> str | None:
        """A reset disables the adapter, and nothing else does."""
        return None if bus.read(register("REMOTE_CONTROL")) & ENABLE else tell(RESET, 0, place)

    def retries(self, options: Any) -> int:
        """Timeouts in a row until a peer is lost."""
        return RETRIES

    def timeout(self, options: Any, nic: "NicConfig") -> int:
        """Slots without an answer until requests are sent again. 0: those of `timeout_on`."""
        return 0

    def adapter(self, placement: Placement) -> Remote:
        """The parameters of each NIC's adapter. Raises UserError if they are too small for these
        ranks."""
        adapter = adapter_in(placement.nic)
        assert adapter is not None, "equip has put one in"
        if placement.nodes > adapter.peers:
            larger = f", or take --nic-option remote.peers={placement.nodes}" if placement.nodes <= MOST_PEERS else ""
            raise UserError(
                f"{self.name}: {placement.nodes} NICs are more than an adapter knows; it has peers={adapter.peers}: "
                f"put more ranks on a NIC (--ranks-per-node K){larger}"
            )
        ranks = placement.max_ranks_per_nic
        if ranks > adapter.processes:
            power = 1 << (ranks - 1).bit_length()
            larger = f", or take --nic-option remote.processes={power}" if power <= MOST_PROCESSES else ""
            raise UserError(
                f"{self.name}: {ranks} ranks on a NIC are more than its adapter serves; it has "
                f"processes={adapter.processes}: put fewer ranks on a NIC (--ranks-per-node K){larger}"
            )
        return adapter

    def check_memory(self, size: int, adapter: Remote, what: str, smaller: str) -> None:
        """Raise UserError if a rank cannot open the adapter with so many bytes. Beyond the page table they are
        walked.

        Args:
            what: the memory, with its verb.
            smaller: an option that makes it smaller.
        """
        pages = -(-size // PAGE_SIZE)
        room = adapter.pages - OWN_PAGES
        if pages <= room:
            return
        most = min(room * DIRECTORY_PAGES, WINDOW // PAGE_SIZE // 2)
        if pages > most:
            raise UserError(
                f"{self.name}: {what} {pages} pages, and the adapter has at most {most} for a rank; choose smaller "
                f"options, such as --option {smaller}, or fewer ranks"
            )


def timeout_on(nic: "NicConfig", adapter: Remote, passage: Callable[[int], int] = lambda size: 0) -> int:
    """Slots without an answer until requests are sent again: 100 us, or more where packets take long.

    The request waits for the packet before it, and so does the reply. Each of the four has to pass the
    fabric, where the other NICs may have a packet before it (`passage`, as `Placement` has it).
    """
    packet = adapter.payload + 4 * (REQUEST_WORDS + 3)
    alone = packet * nic.slot_khz // nic.link_kbytes
    return min(MOST_TIMEOUT, max(TIMEOUT, nic.slot_khz // 10, 4 * max(alone, passage(packet))))


def with_aperture(nic: "NicConfig") -> "NicConfig":
    """Give the NIC an adapter, and its adapter an aperture, where there is none."""
    adapter = adapter_in(nic)
    if adapter is None:
        return nic.but(blocks=(*nic.blocks, APERTURE))
    if adapter.streams:
        return nic
    block = min(APERTURE.stream_bytes, adapter.payload)
    larger = replace(adapter, streams=APERTURE.streams, stream_bytes=block, stream_slots=APERTURE.stream_slots)
    return nic.but(blocks=tuple(larger if one is adapter else one for one in nic.blocks))


def adapter_in(nic: "NicConfig") -> Remote | None:
    """The parameters of a NIC's adapter, if it has one."""
    return next((block for block in nic.blocks if isinstance(block, Remote)), None)


def places_of(placement: Placement) -> tuple[Place, ...]:
    """Return where each rank is. Keys are drawn, the same in each run."""
    keys = random.Random("keys of the ranks' first exposures")
    ranks = range(placement.ranks)
    nodes = [placement.node_of(rank) for rank in ranks]
    return tuple(
        Place(nodes[rank], placement.ranks_on(nodes[rank]).index(rank), keys.randrange(1, 1 << 16)) for rank in ranks
    )
