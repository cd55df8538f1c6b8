"""What the experiments of the thesis run on.

"thesis" is the gateware with the thesis's policies: pages pinned and unpinned for every message
(NP-49), every message acknowledged (NP-16), small ones sent without credit (NP-24), a mark for each
page entry used (NP-46). "ours" is what the project has by default.
"""

from lanai_firmware.programs.mpi_np.plan import paper
from lanai_host.config import pessimistic

from ...benches.p2p.pair import Setting

PAGE = 4096
SETTLE = 20_000_000_000  # picoseconds after which what can move has moved


def thesis() -> Setting:
    return Setting(pessimistic(), paper().but(mark_entries=1))
