"""Functions that MPICH has beside those of MPI, which programs ask what they may do."""

from typing import Any

from ...mpi.errors import ErrorClass, MpiError
from ..binding import always, bind
from ..context import abi


def _no() -> int:
    """Return that MPI does not take buffers in the memory of a GPU of some kind."""
    return 0


for _kind in ("cuda", "hip", "ze"):
    bind(f"MPIX_Query_{_kind}_support", _no, always=True, answers=True)


@always
def MPIX_GPU_query_support(gpu_type: int) -> bool:
    known = [abi.constants[f"MPIX_GPU_SUPPORT_{kind}"] for kind in ("CUDA", "ZE", "HIP")]
    if gpu_type not in known:
        raise MpiError(ErrorClass.ARG, f"MPIX_GPU_query_support: gpu_type is {gpu_type}; it must be one of {known}")
    return False


def _is_complete(request: Any) -> bool:
    return request is None or request.get_status() is not None


bind("MPIX_Request_is_complete", _is_complete, answers=True)
