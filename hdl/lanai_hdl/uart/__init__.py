"""A serial line that carries the host bus: what drives a real board that has no other host."""

from .bridge import UartBridge
from .serial import SerialReceiver, SerialTransmitter

__all__ = ["SerialReceiver", "SerialTransmitter", "UartBridge"]
