"""Engines that evaluate a machine, behind one interface."""
