import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from hamiltone.allocator import keep_freed_memory
if "keep" in sys.argv:
    keep_freed_memory()
def touch():
    torch.ones(2**24)  # 64 MB
touch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    touch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments: str) -> int:
    return int(subprocess.run([sys.executable, "-c", FAULTS, *arguments], capture_output=True, check=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it does nothing")
def test_freed_memory_is_used_again_instead_of_faulted_in():
    assert faults("keep") < faults() / 4
