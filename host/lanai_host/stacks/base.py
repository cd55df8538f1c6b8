"""A messaging system as one object: what it needs, its options, how its NICs are booted, and the
device that MPI sees."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..config import HostConfig
from ..device import Device, Envelope
from ..errors import UserError
from ..plain import restored
from .attachment import Attachment, FirmwareAttachment

if TYPE_CHECKING:
    from lanai_firmware.image import Image
    from lanai_firmware.programs import Firmware
    from lanai_firmware.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig

    from ..bus.base import Bus
    from ..simulator.client import SimulatorClient
    from ..simulator.transport import TransportHub


@dataclass(frozen=True)
class Placement:
    """The ranks that share each NIC: rank r sits on node r // ranks_per_node.

    Attributes:
        ranks: in all.
        route: the route word from one node to another.
        nic: what each NIC is built as.
        broadcasts: the fabric takes the route words of `lanai_hdl.link.format`, in which a node's
            port is its number.
        passage: slots until a packet of so many bytes has passed the fabric, behind one of each other
            NIC; 0: as long as it takes on a link of its own.
    """

    ranks: int
    ranks_per_node: int
    route: Callable[[int, int], int]
    nic: "NicConfig"
    broadcasts: bool = False
    passage: Callable[[int], int] = lambda size: 0

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.ranks_per_node)

    @property
    def max_ranks_per_nic(self) -> int:
        """The largest number of ranks on any NIC."""
        return min(self.ranks, self.ranks_per_node)

    def node_of(self, rank: int) -> int:
        return rank // self.ranks_per_node

    def ranks_on(self, node: int) -> list[int]:
        first = node * self.ranks_per_node
        return list(range(first, min(first + self.ranks_per_node, self.ranks)))


class Memory(Protocol):
    """A NIC's memory, and what its host's trusted side allocated for it, read by the simulator without an
    access."""

    def words(self, addresses: Sequence[int]) -> Sequence[int]:
        """Words of its SRAM."""

    def host(self, bus_address: int, size: int) -> bytes:
        """Host memory that was allocated to boot it. Zeros where there is none."""


class Stack(ABC):
    """One messaging system.

    Attributes:
        name: as `--device` has it; the folder's name with dashes.
        help: one line for users.
        presets: named choices of its options, a frozen dataclass; the first is the default. Files
            have them as the table `options_table`.
        nics: its messages pass through NICs, so that it is a `NicStack`; else `network` carries them.
        spares_serve_again: a process may follow another one that has left, in its place on the NIC
            if there is one.
        host_choices: the fields of `HostConfig` beside its costs that its driver obeys.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    presets: ClassVar[Mapping[str, Callable[[], Any]]]
    options_table: ClassVar[str]
    nics: ClassVar[bool] = False
    spares_serve_again: ClassVar[bool] = False
    host_choices: ClassVar[frozenset[str]] = frozenset()

    def default_options(self) -> Any:
        return next(iter(self.presets.values()))()

    def network(self, ranks: int, options: Any, limit: int, started: int | None = None) -> "TransportHub | None":
        """Return what carries the messages of a run without NICs until `limit` picoseconds, or None for a
        system on NICs. `started` ranks begin, all unless given."""
        return None

    @abstractmethod
    def open(self, client: "SimulatorClient", costs: HostConfig) -> Device:
        """The device of a rank that the simulator serves over `client`."""


class NicStack(Stack):
    """A messaging system whose messages pass through NICs.

    Attributes:
        attachment: the class of what `boot` answers for a rank. None: each run boots its NICs, as no
            earlier boot can be kept.
        firmware: what the NICs' processors run; None if they stay in reset. If it has a
            vocabulary, `plans` and the attachments' `request_in` serve traces.
    """

    nics = True
    host_choices = frozenset({"watchdog"})
    attachment: "ClassVar[type[Attachment] | None]" = None
    firmware: ClassVar["Firmware | None"] = None

    @property
    def needs(self) -> str:
        """The hardware and firmware that it runs on, in words."""
        return "NICs without firmware" if self.firmware is None else f"NICs with the firmware {self.firmware.name}"

    @property
    def vocabulary(self) -> "Vocabulary | None":
        """Return the vocabulary by which traces and waveforms read its packets."""
        return None if self.firmware is None else self.firmware.vocabulary

    def on(self, blocks: Collection[str]) -> "NicStack":
        """The same system as it is on NICs with these optional blocks: itself, unless it uses one instead of what it
        uses else."""
        return self

    def equip(self, nic: "NicConfig") -> "NicConfig":
        """The NICs that the user chose, with the optional blocks that this system needs."""
        return nic

    def sized(self, nic: "NicConfig", nodes: int, ranks: int) -> "NicConfig":
        """The NICs of `equip`, whose tables have room for so many nodes, and so many ranks on each, where the user did
        not choose their sizes."""
        return self.equip(nic)

    def fitting(self, placement: Placement) -> Any:
        """Return the options of a user who chose none: the default ones, or others where the NICs have no room for
        those."""
        return self.default_options()

    def check(self, options: Any, placement: Placement) -> None:
        """Raise UserError if it cannot serve these ranks with these options. Called before anything
        is built."""

    def check_one_rank_a_nic(self, placement: Placement, most: int) -> None:
        """Raise UserError unless each NIC has one rank, and there are at most so many."""
        if placement.ranks_per_node != 1:
            raise UserError(
                f"{self.name} puts one rank on a NIC, not {placement.ranks_per_node}; leave out --ranks-per-node"
            )
        if placement.ranks > most:
            raise UserError(
                f"{self.name} has room for {most} ranks, not {placement.ranks}; start fewer with -n, or choose another "
                "--device"
            )

    def image(self, nic: "NicConfig", options: Any = None, nodes: int = 1) -> "Image | None":
        """Its firmware, compiled for these NICs and options, the default ones if there are none, with room for so many
        nodes; None without firmware."""
        return None if self.firmware is None else self.firmware.image(nic, options, self.sizes(nodes))

    def sizes(self, nodes: int) -> Mapping[str, int]:
        """Return the constants that its firmware is built with for so many nodes. None: its tables have room for all
        that `check` lets pass."""
        return {}

    @abstractmethod
    def boot(self, bus: "Bus", image: Any, options: Any, placement: Placement, node: int) -> Mapping[int, Attachment]:
        """Start one node's NIC, with `image` as its firmware. The answer has an attachment for each
        rank there. `bus` must live as long as the NIC runs: what it allocated may be the NIC's."""

    def open(self, client: "SimulatorClient", costs: HostConfig) -> Device:
        from ..simulator.rank_bus import RankBus

        assert self.attachment is not None, "who keeps no attachments opens devices in a way of its own"
        attachment = restored(self.attachment, client.config["nic"])
        return self.device(RankBus(client, costs), attachment, costs, client.start().members)

    @abstractmethod
    def device(self, bus: "Bus", attachment: Any, costs: HostConfig, members: Sequence[int]) -> Device:
        """A rank's device over its NIC. `members`: the ranks that began together with it."""

    def examine(
        self, bus: "Bus", attachment: Any, place: Callable[[int], str], before_reset: Callable[[], None]
    ) -> str | None:
        """Look whether the NIC is well, when a rank has waited for too long. If it is not, reset it
        after `before_reset` and say what was wrong. `place` names an instruction's place in the
        firmware. A system whose ranks wait without a limit is never asked."""
        from .health import examine

        if not isinstance(attachment, FirmwareAttachment):
            return None
        return examine(bus, attachment, place, before_reset)

    def unexpected(
        self, memory: Memory, image: Any, nic: "NicConfig", options: Any, placement: Placement, node: int
    ) -> Mapping[int, Sequence[Envelope]]:
        """Return by rank the messages that a node's NIC keeps and that no receive has taken. Nothing where
        the firmware keeps none."""
        return {}

    def plans(self, image: Any, nic: "NicConfig", options: Any, placement: Placement) -> Sequence[Mapping[str, Any]]:
        """Return the layout of each node's SRAM for traces, as JSON has it, in the form that the firmware's vocabulary
        takes.
        """
        return [{} for _ in range(placement.nodes)]
