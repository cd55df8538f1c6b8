"""Errors that a user can mend (see `lanai_hdl.errors`)."""

from lanai_hdl.errors import UserError

__all__ = ["DeadlockError", "DeviceLost", "UserError"]


class DeviceLost(UserError):
    """This process's messaging system is of no use any more. The text says what was seen, and what
    to do."""


class DeadlockError(RuntimeError):
    """The process waits for what can never come, and no other process can end it."""
