"""How fast training is beside an older commit: both train by their own recipe of `compact`, in turn, on one thread.

    git worktree add ../before COMMIT
    python tools/training_speed.py ../before VoiceBank --cache cache

VoiceBank is the folder of the corpus. Writes results/training-speed.json for the card, docs/compact.md. What comes
before the first line of a run's log is not counted: reading the corpus, building the model, compiling it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from hamiltone.benchmark.machine import this_machine

ROOT = Path(__file__).parents[1]
STEPS = 100


def audio_seconds_per_second(checkout: Path, recipe: str, options: list[str]) -> float:
    """Seconds of sound that a run of the recipe trains on in a second, by the code of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hamiltone", "train", f"recipes/{recipe}.toml", *options]
        command += [f'run.folder="{folder}/run"', f"budget.steps={STEPS}", "budget.minutes=1000"]
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src"), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
        lines = Path(folder, "run", "log.jsonl").read_text("utf-8").splitlines()
    first, *_, last = (record for record in map(json.loads, lines) if record["kind"] == "train")
    sound = first["units_per_second"] * first["elapsed"] / first["step"]  # in a step
    return float((last["step"] - first["step"]) * sound / (last["elapsed"] - first["elapsed"]))


def main() -> None:
    """Measure in turn, and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder for decoded audio")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    candidates = {
        "compact, before": (given.before, "compact"),
        "compact": (ROOT, "compact"),
        "live": (ROOT, "live"),
    }
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(given.rounds):
        for name, (checkout, recipe) in candidates.items():
            cache = given.cache.resolve() / ("before" if checkout == given.before else "now")
            options = [f'data.root="{given.data.resolve()}"', f'data.cache="{cache}"']
            found[name].append(audio_seconds_per_second(checkout, recipe, options))
            print(f"{name}: {found[name][-1]:.1f} seconds of sound a second")
    commit = ["git", "-C", str(given.before), "rev-parse", "--short", "HEAD"]
    result = {
        "machine": str(replace(this_machine(), threads=1)),
        "before": subprocess.run(commit, capture_output=True, check=True, text=True).stdout.strip(),
        "audio_seconds_per_second": {name: float(np.median(speeds)) for name, speeds in found.items()},
        "each": found,
    }
    (ROOT / "results" / "training-speed.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
