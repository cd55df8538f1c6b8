"""The options of `mpiexec` and `mpirun` as Hydra and Open MPI spell them, and what each means here.

Names are without their dashes: both launchers take one or two.
"""

from enum import Enum


class Meaning(Enum):
    """The effect of an option on the run."""

    RANKS = "processes of this program"
    SET = "a variable and its value"
    EXPORT = "a variable with its value, or to be passed on"
    DIRECTORY = "where the processes run"
    PER_NODE = "processes on each node"
    UNIVERSE = "processes that the run has room for"
    TIMEOUT = "seconds until the run is ended"
    LABEL = "put the rank before each line"
    FILES = "folder that gets what each process prints, too; :nocopy: nothing else does"
    RECOVERY = "ulfm: a process that dies does not end the others, on NICs"
    IGNORED = "means nothing here"
    HELP = "print the options"
    VERSION = "print the version"


# Options that act, with the number of words behind each.
ACTING: dict[str, tuple[Meaning, int]] = {
    **dict.fromkeys(("n", "np", "c"), (Meaning.RANKS, 1)),
    **dict.fromkeys(("env", "genv"), (Meaning.SET, 2)),
    "x": (Meaning.EXPORT, 1),
    **dict.fromkeys(("wdir", "wd"), (Meaning.DIRECTORY, 1)),
    **dict.fromkeys(("ppn", "perhost", "npernode"), (Meaning.PER_NODE, 1)),
    "usize": (Meaning.UNIVERSE, 1),
    "timeout": (Meaning.TIMEOUT, 1),
    **dict.fromkeys(("l", "prepend-rank", "tag-output"), (Meaning.LABEL, 0)),
    "output-filename": (Meaning.FILES, 1),
    "with-ft": (Meaning.RECOVERY, 1),
    **dict.fromkeys(("help", "h"), (Meaning.HELP, 0)),
    **dict.fromkeys(("version", "V", "info"), (Meaning.VERSION, 0)),
}
# What places processes, chooses a transport or traces the launcher has nothing to act on: the ranks run here,
# any number of them. All variables are passed on as they are.
IGNORED = {
    0: (
        "allow-run-as-root", "bind-to-core", "bind-to-none", "bycore", "byhw", "bynode", "bysocket",
        "disable-auto-cleanup", "disable-hostname-propagation", "display-allocation", "display-map",
        "do-not-launch", "enable-recovery", "enable-x", "envall", "forward-signals", "genvall", "nolocal",
        "nooversubscribe", "oversubscribe", "pernode", "q", "quiet", "report-bindings", "use-hwthread-cpus", "v",
        "verbose",
    ),
    1: (
        "H", "bind-to", "cpu-set", "cpus-per-proc", "cpus-per-rank", "envlist", "f", "genvlist", "host",
        "hostfile", "hosts", "iface", "launcher", "launcher-exec", "localhost", "machine", "machinefile",
        "map-by", "membind", "order-nodes", "output", "oversubscribe-by", "path", "pmi-port", "prefix",
        "rank-by", "rmk", "s", "stdin", "topolib", "tune",
    ),
    2: (
        "gmca", "mca", "omca", "pmca", "prtemca",
    ),
}  # fmt: skip
OPTIONS: dict[str, tuple[Meaning, int]] = {
    **{name: (Meaning.IGNORED, words) for words, names in IGNORED.items() for name in names},
    **ACTING,
}
# Those that Hydra does not have: who gives one expects Open MPI's variables in the processes.
OPEN_MPI = frozenset({
    "allow-run-as-root", "bind-to-core", "bind-to-none", "bycore", "bynode", "bysocket", "cpu-set", "cpus-per-proc",
    "cpus-per-rank", "display-allocation", "display-map", "do-not-launch", "enable-recovery", "gmca", "mca", "nolocal",
    "nooversubscribe", "npernode", "omca", "output", "output-filename", "oversubscribe", "pernode", "pmca", "prtemca",
    "rank-by", "report-bindings", "tag-output", "timeout", "tune", "use-hwthread-cpus", "with-ft", "x",
})  # fmt: skip
