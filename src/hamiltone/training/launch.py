"""Where a run computes: one device, or as many processes as torchrun or fabric started."""

import ctypes
import os
import sys
from typing import Literal

import torch
from lightning_fabric import Fabric
from torch.distributed import is_torchelastic_launched

from hamiltone.errors import InputError
from hamiltone.training.config import Run

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of glibc's mallopt
_LARGEST = 32 * 2**20


def make_fabric(run: Run) -> Fabric:
    """Fabric on one device; under ``torchrun -m hamiltone train`` or ``fabric run`` on all of theirs."""
    precision: Literal["bf16-mixed", "32-true"] = "bf16-mixed" if run.precision == "bfloat16" else "32-true"
    by_fabric_run = "LT_CLI_USED" in os.environ
    try:
        if by_fabric_run:
            fabric = Fabric(precision=precision)
        elif is_torchelastic_launched():
            machines = int(os.environ["WORLD_SIZE"]) // int(os.environ["LOCAL_WORLD_SIZE"])
            fabric = Fabric(
                accelerator=run.accelerator,
                strategy="ddp",
                devices=int(os.environ["LOCAL_WORLD_SIZE"]),
                num_nodes=machines,
                precision=precision,
            )
        else:
            fabric = Fabric(accelerator=run.accelerator, devices=1, precision=precision)
    except RuntimeError as error:
        raise InputError(f"cannot use run.accelerator = {run.accelerator}: {' '.join(str(error).split())}") from None
    if not by_fabric_run:  # it has launched already
        fabric.launch()
    return fabric


def tune_cpu() -> None:
    """Make training on a CPU faster, for the whole process.

    Denormal numbers, which can cost a hundred times more than others, become zero: gradients of silence are full of
    them. And the allocator of glibc keeps the memory that a step frees for the next one, instead of returning it and
    faulting in every page again: about a tenth of the time of a step.
    """
    torch.set_flush_denormal(True)
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt:
            mallopt(_MMAP_THRESHOLD, _LARGEST)
            mallopt(_TRIM_THRESHOLD, 2**31 - 1)
