"""Measure what a corpus costs, and write the figures into docs/corpus.md: ``python tools/corpus_cost.py FOLDER``.

Costs are processor time, so that a busy machine does not spoil them; the pace is by the clock, once work has begun, and
means something on an idle machine only. With ``--ray``, the plain loop and Ray take turns on the same clips; what a
worker's whole process takes is counted, and the driver apart from it.
"""

import argparse
import itertools
import json
import os
import time
import tracemalloc
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from hamiltone.benchmark.machine import this_machine
from hamiltone.corpus import Clip, EnhanceStage, Job, Result
from hamiltone.corpus.cluster import RayEngine
from hamiltone.corpus.inputs import list_rows
from hamiltone.corpus.ledger import Ledger
from hamiltone.markdown import fill_blocks, table

PAGE = Path(__file__).parents[1] / "docs" / "corpus.md"
ROWS = 100_000
NULL = 2_000
BATCH = 8


class Timed(EnhanceStage):
    """Reports the processor time of the whole process since the stage was ready as `elapsed`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ready = time.process_time()

    def enhance(self, clip: Clip) -> Result:
        """Enhance one clip."""
        return replace(super().enhance(clip), elapsed=time.process_time() - self._ready)


class Null(EnhanceStage):
    """Does nothing, so that only Ray's own time is left."""

    def __init__(self, output: str, **options: Any) -> None:
        self.output = Path(output)

    def enhance(self, clip: Clip) -> Result:
        """Return an empty result immediately."""
        return Result(clip.id, self.output.name, 1.0, bytes=1, worker="null")


def main() -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clips", type=int, default=160, help="taken from the folder, over and over if it has fewer")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--ray", action="store_true", help="Ray beside the plain loop, in turn")
    parser.add_argument("--score", action="store_true", help="the cost of DNSMOS, too")
    given = parser.parse_args()
    with TemporaryDirectory() as scratch:
        figures = {"machine": str(this_machine()), **_driver(Path(scratch))}
        figures |= _work(given.folder, Path(scratch), given)
    print(json.dumps(figures, indent=2))
    PAGE.write_text(fill_blocks(PAGE.read_text("utf-8"), {"cost": _block(figures)}), "utf-8")


def _work(folder: Path, scratch: Path, given: argparse.Namespace) -> dict[str, Any]:
    there = itertools.cycle([row.clip for row in list_rows(folder, scratch / "out") if row.clip])
    clips = [replace(clip, id=f"{number}/{clip.id}") for number, clip in zip(range(given.clips), there, strict=False)]
    job = Job(folder, scratch / "out")
    parts = [clips[first : first + BATCH] for first in range(0, len(clips), BATCH)]
    plain = ray = audio = written = 0.0
    paces = {"plain_pace": list[float](), "ray_pace": list[float]()}
    with ExitStack() as stack:
        os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's workers give way to others unless told not to
        engine = stack.enter_context(RayEngine((1, 1), stage=Timed)) if given.ray else None
        for _ in range(given.turns):
            loop = Timed(**job.stage_arguments())
            results, pace = _watch([loop.enhance(clip) for clip in part] for part in parts)
            paces["plain_pace"].append(pace)
            plain += max(result.elapsed or 0.0 for result in results)
            audio += sum(result.seconds or 0.0 for result in results)
            written += sum(result.bytes or 0.0 for result in results)
            if engine:
                results, pace = _watch(engine(clips, job, BATCH))
                paces["ray_pace"].append(pace)
                ray += max(result.elapsed or 0.0 for result in results)
        shared = {"ray": 1000 * ray / audio, "driver": _null(engine, job)} if engine else {}
    read = given.turns * sum(Path(clip.path).stat().st_size for clip in clips)
    rating = {}
    if given.score:
        stage = Timed(**{**job.stage_arguments(), "score": True})
        first, *rated = [stage.enhance(clip) for clip in clips[:11]]  # the first one waits for the networks
        seconds = sum(result.seconds or 0.0 for result in rated)
        spent = (rated[-1].elapsed or 0.0) - (first.elapsed or 0.0)
        rating = {"score": 1000 * spent / seconds - 1000 * plain / audio}
    sizes = {"read": read / audio, "written": written / audio, "seconds": audio / given.turns / len(clips)}
    medians = {name: median(values) for name, values in paces.items() if values}
    found = {"clips": len(clips), "turns": given.turns, "plain": 1000 * plain / audio, **medians}
    return {**found, **sizes, **shared, **rating}


def _watch(batches: Iterable[list[Result]]) -> tuple[list[Result], float]:
    """All results, and the seconds of audio a second after the first batch, which waits for the model."""
    results, ends = list[Result](), list[float]()
    for batch in batches:
        results += batch
        ends.append(time.perf_counter())
    audio = sum(result.seconds or 0.0 for result in results[BATCH:])
    return results, audio / (ends[-1] - ends[0])


def _null(engine: RayEngine, job: Job) -> float:
    """Seconds of the driver per clip, with workers that do nothing."""
    engine.stage = Null
    clips = [Clip(str(number), "/none") for number in range(NULL)]
    started = time.process_time()
    assert sum(len(results) for results in engine(clips, job, BATCH)) == NULL
    return (time.process_time() - started) / NULL


def _driver(scratch: Path) -> dict[str, float]:
    """The list of done clips: memory and time per clip."""
    entry = {"enhanced_filepath": "audio/3f/speaker_0000-0123456789abcdef.flac", "seconds": 8.25, "noise_db": -41.5}
    entries = [{"id": f"corpus/part/speaker_{number:08}.flac", **entry, "bytes": 1} for number in range(ROWS)]
    started = time.perf_counter()
    with Ledger(scratch / "synced") as ledger:
        for first in range(0, 100 * BATCH, BATCH):
            ledger.add(entries[first : first + BATCH])
    synced = (time.perf_counter() - started) / 100
    with Ledger(scratch / "done") as ledger:
        ledger.add(entries)
    del entries
    tracemalloc.start()
    with Ledger(scratch / "done"):
        size = tracemalloc.get_traced_memory()[0] / ROWS
    tracemalloc.stop()
    return {"ledger_bytes": (scratch / "done").stat().st_size / ROWS, "ledger_sync": synced, "id_bytes": size}


def _block(figures: dict[str, Any]) -> str:
    plain, sync = figures["plain"], 1000 * figures["ledger_sync"]
    pace = figures["plain_pace"]
    rows = [
        ["plain loop, one core", f"{plain:.1f} core-hours per 1,000 hours of speech"],
        ["its pace by the clock", f"{pace:.1f} times real time"],
    ]
    if "ray" in figures:
        share = 100 * (figures["ray"] / plain - 1)
        rows += [
            ["a worker of Ray, its whole process", f"{figures['ray']:.1f} core-hours per 1,000 hours ({share:+.1f} %)"],
            [
                "its pace by the clock",
                f"{figures['ray_pace']:.1f} times real time ({100 * (figures['ray_pace'] / pace - 1):+.1f} %)",
            ],
            ["the driver", f"{1000 * figures['driver']:.2f} ms of one core per clip"],
        ]
    if "score" in figures:
        rows += [["DNSMOS before and after", f"{figures['score']:.1f} core-hours more"]]
    rows += [
        ["read", f"{figures['read'] * 3.6e6 / 1e9:.1f} GB per 1,000 hours"],
        ["written", f"{figures['written'] * 3.6e6 / 1e9:.1f} GB per 1,000 hours"],
        ["memory of the driver", f"{figures['id_bytes']:.0f} bytes per clip"],
        ["the list of done clips", f"{figures['ledger_bytes']:.0f} bytes a clip, {sync:.1f} ms to sync a batch"],
    ]
    speed = 1000 / figures.get("ray", plain)  # seconds of audio a second
    moved = speed * (figures["read"] + figures["written"]) / 1e6  # MB a second
    listed = BATCH / figures["ledger_sync"]  # clips a second
    hours, terabytes = 1000 * plain, 3.6e9 * (figures["read"] + figures["written"]) / 1e12
    rows += [
        ["so: one worker", f"{speed:.1f} times real time, {moved:.2f} MB read and written a second"],
        ["so: a disk of 500 MB/s is the limit", f"at {500 / moved:.0f} workers"],
        [
            "so: syncing the list is the limit",
            f"at {listed:.0f} clips a second: {listed * figures['seconds'] / speed:.0f} workers with these clips, "
            f"{listed * 10 / speed:.0f} with clips of 10 s",
        ],
        [
            "so: a million hours",
            f"{hours:,.0f} core-hours, {hours / 24_000:.1f} days of 1,000 cores; {terabytes:.0f} TB read and written",
        ],
    ]
    note = (
        f"{figures['clips']} clips of {figures['seconds']:.1f} s on average, {figures['turns']} in turn, "
        f"processor time; paces, their median, and the sync by the clock; {figures['machine']}\n"
    )
    return f"{table(['what', 'measured'], rows)}\n{note}"


if __name__ == "__main__":
    main()
