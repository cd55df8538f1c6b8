"""Remote memory: a process writes, reads and changes what other processes have exposed, through the NIC's adapter."""

from .boot import boot
from .memory import Access, Exposure, RemoteMemory
from .operation import RemoteError, RemoteOperation
from .token import Token

__all__ = ["Access", "Exposure", "RemoteError", "RemoteMemory", "RemoteOperation", "Token", "boot"]
