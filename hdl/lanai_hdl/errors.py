"""Errors that a user can mend. The lowest room owns the class so that every room can raise it."""


class UserError(Exception):
    """Bad input. The text quotes the bad value and says what would be right.

    The `lanai` command prints it and exits with 2.
    """
