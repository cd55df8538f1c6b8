"""Subcommands of `lanai`, one a module (see `lanai_sim.cli.plugins`)."""

IN = {"mpicxx": "mpicc", "mpifort": "mpicc"}  # the modules of commands that share one, which lists them in OTHERS
