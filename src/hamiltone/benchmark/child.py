"""Call a function in a fresh process: a high-water mark of memory never falls, so each row needs its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from hamiltone.nn.rules import register_rule, registered_rules


def call_in_child(function: Callable[..., Any], **arguments: Any) -> Any:
    """Run a module-level function in a new interpreter with the same score rules; arguments and result are JSON."""
    target = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "hamiltone.benchmark.child", target, json.dumps(arguments), *registered_rules()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{target} failed in its child process:\n{done.stderr}")
    return json.loads(done.stdout)


def peak_growth_mb(run: Callable[[], object], warm_up: Callable[[], object]) -> float:
    """How far `run` raises this process's high-water mark above where `warm_up` left it, in MB."""
    warm_up()
    before = high_water_mb()
    run()
    return high_water_mb() - before


def high_water_mb() -> float:
    """The largest resident memory of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count the parent's memory from before exec
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def _main() -> None:
    _, target, arguments, *rules = sys.argv
    for rule in rules:
        register_rule(rule)
    module, _, name = target.partition(":")
    result = getattr(import_module(module), name)(**json.loads(arguments))
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    _main()
