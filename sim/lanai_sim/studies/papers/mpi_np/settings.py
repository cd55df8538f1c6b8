"""The settings of the experiments of the thesis.

"thesis" is the gateware with the thesis's policies: pages pinned and unpinned for every message
(NP-49), every message acknowledged (NP-16), small ones sent without credit (NP-24), a mark for each
page entry used (NP-46), receives that ask their sender (NP-22), and a round trip that sends first and then
posts its receive (NP-B1). "ours" is what the project has by default.
"""

from lanai_firmware.programs.mpi_np.plan import paper
from lanai_host.config import thesis as hosts

from ...benches.p2p.pair import Setting

PAGE = 4096
SETTLE = 20_000_000_000  # picoseconds after which what can move has moved


def thesis() -> Setting:
    return Setting(hosts(), paper().but(mark_entries=1), send_first=True)
