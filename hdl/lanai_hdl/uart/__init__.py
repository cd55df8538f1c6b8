"""Lines that carry the host bus: what drives a real board that has no other host."""

from .bridge import FrameBridge, UartBridge
from .ft245 import ClockedFt245, Ft245, Ft245Port
from .serial import SerialReceiver, SerialTransmitter

__all__ = ["ClockedFt245", "FrameBridge", "Ft245", "Ft245Port", "SerialReceiver", "SerialTransmitter", "UartBridge"]
