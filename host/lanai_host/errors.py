"""Errors that a user can mend (see `lanai_hdl.errors`)."""

from lanai_hdl.errors import UserError

__all__ = ["DeviceLost", "UserError"]


class DeviceLost(UserError):
    """This process's messaging system is of no use any more. The text says what was seen, and what to do."""
