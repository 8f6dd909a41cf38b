import subprocess
import sys

import pytest

# What glibc says of a block of 16 MB: how much of it the system mapped, and how much is then free for the next.
REPORT = """
import ctypes, sys
libc = ctypes.CDLL(None)
if not hasattr(libc, "mallinfo2"):
    sys.exit(77)
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
libc.mallinfo2.restype = Info
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
from hamiltone.allocator import keep_freed_memory
if "keep" in sys.argv:
    keep_freed_memory()
before = libc.mallinfo2()
block = libc.malloc(2**24)
mapped = libc.mallinfo2().hblkhd - before.hblkhd
libc.free(block)
print(mapped, libc.mallinfo2().fordblks - before.fordblks)
"""


def report(*arguments: str) -> tuple[int, int]:
    child = subprocess.run([sys.executable, "-c", REPORT, *arguments], capture_output=True)
    if child.returncode == 77:
        pytest.skip("this C library does not tell")
    assert child.returncode == 0, child.stderr.decode()
    mapped, free = map(int, child.stdout.split())
    return mapped, free


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it does nothing")
def test_freed_memory_is_kept_instead_of_returned():
    mapped, free = report()
    assert mapped >= 2**24 and free < 2**23  # mapped for this block alone, and given back with it
    mapped, free = report("keep")
    assert mapped == 0 and free > 2**23
