"""Messaging devices: implementations of `lanai_host.device.Device`."""
