"""Subcommands of `lanai`, one a module (see `lanai_sim.cli.plugins`)."""
