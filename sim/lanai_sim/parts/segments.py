"""The file of the memory by which MPICH joins the processes of one computer. MPICH removes it in MPI_Finalize, so that
it was left in /dev/shm by each job that ended otherwise, with some megabytes."""

import contextlib
from pathlib import Path

FOLDER, NAME = "/dev/shm", "mpich_shm_*"


def unlink() -> None:
    """Remove the names of the segments that this process has mapped. All processes of the job must have: their memory
    stays until the last of them ends, however it ends, and nobody else can find it."""
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        path = Path(line[line.find("/") :])
        if str(path.parent) == FOLDER and path.match(NAME):
            with contextlib.suppress(OSError):  # another process was faster, and MPICH's own attempt fails likewise
                path.unlink()
