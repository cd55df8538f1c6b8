"""Opening files and making datatypes for the tests of files."""

import numpy as np

from lanai_host.mpi import ERRORS_RETURN
from lanai_host.mpi.files import ACCESSES, access, state
from lanai_host.mpi.files import state as opening
from lanai_host.mpi.files.disk import Mode
from lanai_host.mpi.files.representation import registry

from ..ranks import buffer

REGISTRY = registry()
CREATE = Mode.RDWR | Mode.CREATE


def opened(world, path, mode=CREATE, info=None):
    return opening.open_file_of(world.comm_world, str(path), int(mode), info, ERRORS_RETURN)


def run(name, file, array, offset=0):
    """A blocking access with a whole array; bytes moved."""
    return access.run(ACCESSES[name], file, *buffer(array), offset).count


def start(name, file, array, offset=0):
    return access.start(ACCESSES[name], file, *buffer(array), offset)


def view(file, etype, filetype=None, disp=0, datarep="native", info=None):
    filetype = filetype or etype
    filetype.commit()
    state.set_view(file, disp, etype, filetype, datarep, info, REGISTRY)


def contents(path, dtype):
    return np.fromfile(path, dtype).tolist()
