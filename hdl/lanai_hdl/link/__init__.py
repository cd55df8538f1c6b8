"""The link: flits out and in, CRC, STOP/GO flow control, rate limit."""

from .cable import Cable
from .deframer import Deframer, Part, PartKind
from .flit import Flit, Kind, LinkPort
from .receiver import LinkReceiver
from .transmitter import LinkTransmitter

__all__ = ["Cable", "Deframer", "Flit", "Kind", "LinkPort", "LinkReceiver", "LinkTransmitter", "Part", "PartKind"]
