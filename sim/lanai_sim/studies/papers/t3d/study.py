"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from .. import verdicts
from ..page import Frame
from ..studies import Study
from . import answers, experiments, plots
from .sections import SECTIONS

FRAME = Frame(
    title="MPICH on the Cray T3D, measured again",
    believe=("the protocol: where its three modes begin, its flags, and what goes wrong without them."),
    doubt=(
        "bandwidths. Two rows are fitted on, and a get is a command as a put is. On a T3D one is a loop of "
        "loads and the other of stores, hence the paper's factor of 2."
    ),
    open=("what a get costs that is made of prefetched words."),
    intro=(
        "Brightwell and Skjellum (1996) made a device for MPICH of the T3D's remote puts. This page "
        "runs their experiments by `--system t3d-1996`, and sets what they published beside what comes "
        "out. The NIC's remote-memory adapter takes the place of the T3D's shell: puts, gets and swaps "
        "are done in hardware. `lanai paper t3d` writes the page. [The mechanisms](mechanisms.md#t3d) "
        "are on a page of their own.\n\n"
        "The paper prints few numbers, and none of the machine's. Two constants are fitted, each on one "
        "row: the clock of the host bus on the bandwidth of large messages, and the host's price of a "
        "call of MPI on that of 100,000 bytes. Together the two rows say that a message of n bytes takes "
        "65 us + n / 107 MB/s. All other prices are choices. Experiment `choices` doubles those of the "
        "host: puts, gets and the bandwidths change by less than 1 %, the latency of 1,024 bytes by the "
        "two copies of its bytes. CRI/EPCC MPI, with which the paper compares itself, is not built here.\n\n"
        "The shell keeps the order of puts, and shows a header's first line before its second. So two "
        "experiments run with puts by firmware: the header with the status first (`--nic t3d`), and the T3E "
        "(`--nic t3e`, with the default host, as the paper says nothing of its speed)."
    ),
    ours="here",
    default="",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="t3d",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=plots.of,
    why_not=verdicts.reasons("t3d", answers.WHY_NOT, answers.CONTEXT_WHY_NOT),
    quick_minutes=2,
)
