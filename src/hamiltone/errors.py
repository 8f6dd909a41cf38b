"""The error that a user can fix."""


class InputError(ValueError):
    """The input is wrong in a way that the user can fix; the message is one line that says what to do.

    The command line prints it without a traceback and exits with code 2.
    """
