"""Files: MPI's chapter on input and output, on the real file system.

Every process opens the file itself and reads and writes by its own system calls. A `File` has a
communicator of its own.

- `opening`: `open_file_of(comm, filename, amode, info, errhandler) -> File`, `close(file)`,
  `delete(comm, filename, info)`.
- `state`: sizes, views, pointers, atomicity, hints.
- `access`: `run(access, file, address, count, datatype, offset) -> Status`, `start` for the
  nonblocking call, `begin` and `end` for a split collective, where the access is one of `ACCESSES`.
"""

from .access import ACCESSES, Access, Where
from .file import File

__all__ = ["ACCESSES", "Access", "File", "Where"]
