"""The driver of the NIC's remote-memory adapter: what a process exposes, and its commands."""

from .boot import boot, lost_peers, reopen
from .exposures import Exposure
from .fifo import Signal, SignalQueue
from .memory import RemoteMemory
from .operation import RemoteError, RemoteOperation, Token

__all__ = [
    "Exposure",
    "RemoteError",
    "RemoteMemory",
    "RemoteOperation",
    "Signal",
    "SignalQueue",
    "Token",
    "boot",
    "lost_peers",
    "reopen",
]
