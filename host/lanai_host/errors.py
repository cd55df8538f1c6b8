"""Errors that a user can mend (see `lanai_hdl.errors`)."""

from lanai_hdl.errors import UserError

__all__ = ["UserError"]
