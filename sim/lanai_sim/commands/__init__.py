"""Subcommands of `lanai`, one a module (see `lanai_sim.cli.plugins`)."""

IN = {"mpicxx": "mpicc", "mpifort": "mpicc"}  # the modules of commands that share one, which lists them in OTHERS
# The names that commands had. They still work, and tell the new one.
FORMER = {
    **{name: f"trace {name}" for name in ("report", "profile", "matrix", "timeline", "export")},
    **{name: f"dev {name}" for name in ("bench", "conform", "lockstep", "replay")},
    **{name: f"list {name}" for name in ("devices", "systems")},
    "config": "list parameters",
    "warm": "cache warm",
}

# What `lanai --help` shows, by what a person wants. A row of several commands has a text of its own.
GROUPS: dict[str, dict[str, str]] = {
    "run a program": {
        "run": "",
        "mpicc mpicxx mpifort env": "compile one; put mpiexec and compilers on PATH",
        "compare sweep": "run it on several systems, or over parameters",
    },
    "find what is wrong with it": {
        "check": "",
        "explore": "",
        "queues": "show its message queues at a simulated time",
    },
    "see where its time went": {
        "trace": "report, profile, matrix, timeline, export",
        "results diff": "list kept runs; say what changed between two",
    },
    "build the hardware": {
        "build verilog board": "a bitstream, Verilog, a board on the desk",
        "fw": "",
    },
    "study and teach": {
        "paper lab": "repeat a paper, or grade a lab of a course",
    },
    "set up": {
        "doctor": "",
        "list": "devices, systems or parameters there are",
        "cache": "what was built; build ahead, prune, export",
    },
    "develop openlanai": {
        "dev": "bench, conform, lockstep, replay",
    },
}
