"""Messaging systems, one package each: from firmware to `Device`."""
