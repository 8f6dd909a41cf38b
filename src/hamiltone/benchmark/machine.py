"""The machine that a measurement was taken on."""

import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

from hamiltone import __version__


@dataclass(frozen=True)
class Machine:
    """CPU, threads and versions, named beside every generated table."""

    cpu: str
    threads: int
    python: str
    torch: str
    hamiltone: str
    commit: str

    def __str__(self) -> str:
        return (
            f"{self.cpu}, {self.threads} threads; Python {self.python}, torch {self.torch}, "
            f"hamiltone {self.hamiltone} ({self.commit})"
        )


def this_machine() -> Machine:
    """Describe this machine."""
    return Machine(
        cpu=_cpu_name(),
        threads=torch.get_num_threads(),
        python=platform.python_version(),
        torch=torch.__version__,
        hamiltone=__version__,
        commit=_commit(),
    )


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in info.read_text().split("\n\n")[0].splitlines() if ":" in line)
    values = {key.strip(): value.strip() for key, value in fields.items()}
    name = values.get("model name", platform.machine())
    return f"{name} (family {values.get('cpu family', '?')}, model {values.get('model', '?')})"


def _commit() -> str:
    """The commit of the source tree, or "installed" when there is none.

    It is marked dirty if the package itself was changed since; new files of results do not count.
    """
    package = Path(__file__).parents[1]
    try:
        commit, changed = (
            subprocess.run(["git", *words], cwd=package, capture_output=True, text=True, check=True).stdout.strip()
            for words in (("describe", "--always"), ("status", "--porcelain", "--", "."))
        )
    except (OSError, subprocess.CalledProcessError):
        return "installed"
    return f"{commit}-dirty" if changed else commit
