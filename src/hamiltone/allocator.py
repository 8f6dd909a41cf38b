"""How the C library treats freed memory."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_NEVER = 2**31 - 1
_LARGEST = 32 * 2**20  # the highest mmap threshold that older versions accept


def keep_freed_memory() -> None:
    """Let glibc keep large freed blocks for the next request, for the whole process.

    Otherwise it returns them to the system and every page has to be faulted in again, which costs a model about a tenth
    of its time. Does nothing where there is no glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        _ = mallopt(_MMAP_THRESHOLD, _NEVER) or mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _NEVER)
