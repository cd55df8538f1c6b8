"""The remote-memory adapter, which `sci` and `mbcf` have without being asked."""

from lanai_hdl.remote.config import Remote as BLOCK

__all__ = ["BLOCK"]
