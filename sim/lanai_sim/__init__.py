"""Engines, fabric, cluster, launcher, faults, traces, reports, and the `lanai` command."""
