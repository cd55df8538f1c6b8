"""One-sided communication: windows on memory that other processes read, write and combine with.

`create`: `create allocate allocate_shared create_dynamic free`. `access`: `put get accumulate
get_accumulate fetch_and_op compare_and_swap -> Transfer | None`, which `OneSidedRequest` makes a
request of. `sync`: `fence start complete post wait test lock unlock lock_all unlock_all flush
flush_all flush_local flush_local_all sync`. Inquiries are methods and fields of `window.Window`.

A window reaches its targets by a `way.Way`. `messages` is the one for every device: requests go to
a `service` at the target, of which a process has one for all its windows.
"""

from .access import (
    OneSidedRequest,
    accumulate,
    compare_and_swap,
    fetch_and_op,
    get,
    get_accumulate,
    put,
)
from .create import allocate, allocate_shared, create, create_dynamic, free
from .window import Window

__all__ = [
    "OneSidedRequest",
    "Window",
    "accumulate",
    "allocate",
    "allocate_shared",
    "compare_and_swap",
    "create",
    "create_dynamic",
    "fetch_and_op",
    "free",
    "get",
    "get_accumulate",
    "put",
]
