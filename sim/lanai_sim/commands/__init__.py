"""Subcommands of `lanai`, one a module (see `lanai_sim.cli.plugins`)."""

IN = {"mpicxx": "mpicc", "mpifort": "mpicc"}  # the modules of commands that share one, which lists them in OTHERS

# What `lanai --help` shows, by what a person wants. A row of several commands has a text of its own.
GROUPS: dict[str, dict[str, str]] = {
    "run a program": {
        "run": "",
        "mpicc mpicxx mpifort env": "compile one; put mpiexec and compilers on PATH",
        "compare sweep": "run it on several systems, by parameters",
    },
    "find what is wrong with it": {
        "check": "",
        "explore": "",
    },
    "see where its time went": {
        "report profile matrix queues": "a trace: times, firmware, who sent, queues",
        "timeline export": "a trace for Perfetto, LogGOPSim, Vampir",
        "results diff": "runs that were kept; what changed between two",
    },
    "hold the hardware": {
        "build verilog": "the NIC as an FPGA bitstream, or as Verilog",
        "fw": "",
    },
    "study and teach": {
        "paper bench lab": "papers, benchmarks, labs of a course",
    },
    "set up": {
        "doctor": "",
        "warm cache": "build ahead; keep, move, delete what was built",
        "devices systems config": "what there is to choose, with every parameter",
    },
    "develop openlanai": {
        "conform lockstep replay": "test suites; the core and models held to them",
    },
}
