"""Errors that the user can mend."""


class InputError(ValueError):
    """Something outside the program is not as it must be; the message is one line that says what to do.

    The command line prints it without a traceback and leaves with exit code 2.
    """
