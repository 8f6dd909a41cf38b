"""Measure the bare install, and show it in docs/BENCH.md: ``python tools/install_cost.py``.

A wheel of this clone goes into a fresh environment with what it needs, from the package index. This measures what is
downloaded, what is then on the disk (with the bytecode, without pip), and how long commands take from start to end,
each in a process of its own.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import soundfile  # type: ignore[import-untyped]

from bench import ROOT, fill
from hamiltone.benchmark.machine import this_machine

RUNS = 15


def main() -> None:
    """Measure, store and show."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
        (wheel,) = folder.glob("*.whl")
        _pip("download", "--dest", str(folder / "all"), str(wheel))
        files = list((folder / "all").iterdir())
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        python, packages = folder / "venv" / "bin" / "python", [str(file) for file in files]
        _pip("--python", str(python), "install", "--no-index", "--no-deps", *packages)
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        sound, rate = soundfile.read(ROOT / "examples" / "noisy.wav", stop=48_000)
        soundfile.write(folder / "noisy.wav", sound, rate)
        enhance = ["enhance", "noisy.wav", "-o", "clean.wav", "--overwrite"]
        content = {
            "machine": str(this_machine()),
            "packages": len(files),
            "download_mb": sum(file.stat().st_size for file in files) / 1e6,
            "disk_mb": sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) / 1e6,
            "version_s": _times(folder, "--version"),
            "enhance_s": _times(folder, *enhance),
        }
    (ROOT / "results" / "install.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    page = ROOT / "docs" / "BENCH.md"
    page.write_text(fill(page.read_text("utf-8"), ROOT / "results"), "utf-8")


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def _times(folder: Path, *arguments: str) -> dict[str, float]:
    """Seconds of the first run, and of those after it, in which the files are in the system's memory."""
    times, variables = [], {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        command = [str(folder / "venv/bin/hamiltone"), *arguments]
        subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    first, *rest = times
    return {"first": first, "median": median(rest), "least": min(rest), "most": max(rest)}


if __name__ == "__main__":
    main()
