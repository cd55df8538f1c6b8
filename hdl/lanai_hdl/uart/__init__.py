"""Lines that carry the host bus: what drives a real board that has no other host."""

from .bridge import FrameBridge, UartBridge
from .serial import SerialReceiver, SerialTransmitter

__all__ = ["FrameBridge", "SerialReceiver", "SerialTransmitter", "UartBridge"]
