"""Packets in and out: credit, reliability, cut-through, lost peers."""
