"""Where a run computes: one device, or as many processes as torchrun or fabric started."""

import os
from typing import Literal

import torch
from lightning_fabric import Fabric
from torch.distributed import is_torchelastic_launched

from hamiltone.allocator import keep_freed_memory
from hamiltone.errors import InputError
from hamiltone.training.config import Run


def make_fabric(run: Run) -> Fabric:
    """Fabric on one device, or on all those of ``torchrun -m hamiltone train`` or ``fabric run``."""
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
    if not by_fabric_run:  # which has launched the processes already
        fabric.launch()
    return fabric


def tune_cpu() -> None:
    """Make training on a CPU faster, for the whole process.

    Denormal numbers, which can cost a hundred times more than others, become zero: gradients of silence are full of
    them. And the memory that a step frees is reused by the next one.
    """
    torch.set_flush_denormal(True)
    keep_freed_memory()
