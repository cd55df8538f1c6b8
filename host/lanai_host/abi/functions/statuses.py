"""Functions that the front does in C (`generate.shortcut`). They come here only if a pointer leads
nowhere.

The binding refuses null pointers by the table of `arguments`, so what is left is MPI_STATUS_IGNORE.
"""

from ..binding import bind
from ..tables import IgnoredStatus

_FIELDS = [f"{way}_{field}" for way in ("get", "set") for field in ("source", "tag", "error")]
_FORMS = ["c2f", "f2c", "c2f08", "f082c", "f2f08", "f082f"]


def _refuse() -> None:
    raise IgnoredStatus("the status")


for _name in [f"MPI_Status_{part}" for part in _FIELDS + _FORMS] + ["MPI_Abi_get_version"]:
    bind(_name, _refuse, always=True)
