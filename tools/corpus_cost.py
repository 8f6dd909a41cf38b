"""Measure what a corpus costs, keep it in results/, and fill docs/corpus.md: ``python tools/corpus_cost.py FOLDER``.

``--pages`` measures nothing: it fills the page from results/.

Costs are processor time, so that a busy machine does not spoil them; the pace is by the clock, once work has begun, and
means something on an idle machine only. With ``--ray``, the plain loop and Ray take turns on the same clips; what a
worker's whole process takes is counted, and the driver apart from it: what more clips add, without the start of a pool.
What is read is counted as it is asked for; most of the second reading of a clip comes from memory.
"""

import argparse
import itertools
import json
import math
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
from hamiltone.corpus import Clip, CorpusJob, EnhanceStage, Result
from hamiltone.corpus.cluster import RayEngine
from hamiltone.corpus.columns import batch_clips, result_columns
from hamiltone.corpus.inputs import list_rows
from hamiltone.corpus.ledger import Ledger
from hamiltone.markdown import fill_blocks, table

ROOT = Path(__file__).parents[1]
PAGE, RESULT = ROOT / "docs" / "corpus.md", ROOT / "results" / "corpus-cost.json"
ROWS = 100_000
NULL = (2_000, 10_000)
CORES, TYPICAL = 1000, 10.0
"""The cluster and the seconds of a clip in the plan for a million hours."""
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

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return empty results immediately."""
        results = [Result(clip.id, self.output.name, 1.0, bytes=1, worker="null") for clip in batch_clips(batch)]
        return {**batch, **result_columns(results)}


def main() -> None:
    """Measure, keep the figures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="recordings to clean")
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    parser.add_argument("--clips", type=int, default=160, help="taken from the folder, over and over if it has fewer")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--ray", action="store_true", help="Ray beside the plain loop, in turn")
    parser.add_argument("--score", action="store_true", help="the cost of DNSMOS, too")
    given = parser.parse_args()
    if not given.pages:
        if given.folder is None:
            parser.error("give a folder of recordings, or --pages")
        with TemporaryDirectory() as scratch:
            figures = {"machine": str(this_machine()), **_driver(Path(scratch))}
            figures |= _work(given.folder, Path(scratch), given)
        RESULT.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
        print(RESULT.read_text("utf-8"), end="")
    figures = json.loads(RESULT.read_text("utf-8"))
    PAGE.write_text(fill_blocks(PAGE.read_text("utf-8"), {"cost": _block(figures)}), "utf-8")


def _work(folder: Path, scratch: Path, given: argparse.Namespace) -> dict[str, Any]:
    there = itertools.cycle([row.clip for row in list_rows(folder, scratch / "out") if row.clip])
    clips = [replace(clip, id=f"{number}/{clip.id}") for number, clip in zip(range(given.clips), there, strict=False)]
    job = CorpusJob(folder, scratch / "out")
    parts = [clips[first : first + BATCH] for first in range(0, len(clips), BATCH)]
    plain = ray = audio = written = read = 0.0
    paces = {"plain_pace": list[float](), "ray_pace": list[float]()}
    with ExitStack() as stack:
        engine = stack.enter_context(RayEngine((1, 1), stage=Timed)) if given.ray else None
        for _ in range(given.turns):
            loop, before = Timed(**job.stage_arguments()), _bytes_read()
            results, pace = _watch([loop.enhance(clip) for clip in part] for part in parts)
            read += _bytes_read() - before
            paces["plain_pace"].append(pace)
            plain += max(result.elapsed or 0.0 for result in results)
            audio += sum(result.seconds or 0.0 for result in results)
            written += sum(result.bytes or 0.0 for result in results)
            if engine:
                results, pace = _watch(engine(clips, job, BATCH))
                paces["ray_pace"].append(pace)
                ray += max(result.elapsed or 0.0 for result in results)
        shared = {"ray": 1000 * ray / audio, "driver": _null(engine, job)} if engine else {}
    size = given.turns * sum(Path(clip.path).stat().st_size for clip in clips)
    sizes = {"size": size / audio, "read": read / audio, "written": written / audio}
    sizes["seconds"] = audio / given.turns / len(clips)
    medians = {name: median(values) for name, values in paces.items() if values}
    found = {"clips": len(clips), "turns": given.turns, "plain": 1000 * plain / audio, **medians, **sizes, **shared}
    return {**found, **(_ratings(clips[:11], job, found) if given.score else {})}


def _ratings(clips: list[Clip], job: CorpusJob, figures: dict[str, Any]) -> dict[str, float]:
    """What DNSMOS adds to the core-hours per 1,000 hours and to the bytes read per second of audio."""
    stage = Timed(**{**job.stage_arguments(), "score": True})
    first = stage.enhance(clips[0])  # waits for the networks
    before = _bytes_read()
    rated = [stage.enhance(clip) for clip in clips[1:]]
    seconds = sum(result.seconds or 0.0 for result in rated)
    spent = (rated[-1].elapsed or 0.0) - (first.elapsed or 0.0)
    return {
        "score": 1000 * spent / seconds - figures["plain"],
        "score_read": (_bytes_read() - before) / seconds - figures["read"],
    }


def _bytes_read() -> int:
    """What this process has asked for so far."""
    return int(Path("/proc/self/io").read_text("ascii").split()[1])


def _watch(batches: Iterable[list[Result]]) -> tuple[list[Result], float]:
    """All results, and the seconds of audio a second after the first batch, which waits for the model."""
    results, ends = list[Result](), list[float]()
    for batch in batches:
        results += batch
        ends.append(time.perf_counter())
    audio = sum(result.seconds or 0.0 for result in results[BATCH:])
    return results, audio / (ends[-1] - ends[0])


def _null(engine: RayEngine, job: CorpusJob) -> float:
    """Seconds of the driver per further clip, with workers that do nothing."""
    engine.stage = Null
    spent = []
    for count in NULL:
        clips = [Clip(str(number), "/none") for number in range(count)]
        started = time.process_time()
        assert sum(len(results) for results in engine(clips, job, BATCH)) == count
        spent.append(time.process_time() - started)
    return (spent[1] - spent[0]) / (NULL[1] - NULL[0])


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
            ["the driver", f"{1000 * figures['driver']:.2f} ms of one core per further clip"],
        ]
    if "score" in figures:
        rows += [["DNSMOS before and after", f"{figures['score']:.1f} core-hours more"]]
    times = figures["read"] / figures["size"]
    rows += [
        ["read", f"{figures['read'] * 3.6e6 / 1e9:.1f} GB per 1,000 hours: each clip {times:.1f} times"],
        ["written", f"{figures['written'] * 3.6e6 / 1e9:.1f} GB per 1,000 hours"],
        ["memory of the driver", f"{figures['id_bytes']:.0f} bytes per clip"],
        ["the list of done clips", f"{figures['ledger_bytes']:.0f} bytes a clip, {sync:.1f} ms to sync a batch"],
    ]
    speed = 1000 / figures.get("ray", plain)  # seconds of audio a second
    moved = speed * (figures["read"] + figures["written"]) / 1e6  # MB a second
    rows += [
        ["so: one worker", f"{speed:.1f} times real time, {moved:.2f} MB read and written a second"],
        ["so: a disk of 500 MB/s is the limit", f"at {500 / moved:.0f} workers"],
        ["so: syncing the list is the limit", _limit(BATCH / figures["ledger_sync"], figures["seconds"], speed)],
    ]
    if "driver" in figures:
        rows += [["so: the driver is the limit", _limit(1 / figures["driver"], figures["seconds"], speed)]]
    rows += [["so: a million hours", _plan(figures, rated=False)]]
    if "score" in figures:
        rows += [["so: a million hours, rated to be filtered", _plan(figures, rated=True)]]
    note = (
        f"{figures['clips']} clips of {figures['seconds']:.1f} s on average, {figures['turns']} in turn, "
        f"processor time; paces, their median, and the sync by the clock; {figures['machine']}\n"
    )
    return f"{table(['what', 'measured'], rows)}\n{note}"


def _limit(pace: float, seconds: float, speed: float) -> str:
    """How many workers make so many clips a second."""
    workers = [pace * length / speed for length in (seconds, TYPICAL)]
    return (
        f"at {pace:.0f} clips a second: {workers[0]:.0f} workers with these clips, "
        f"{workers[1]:.0f} with clips of {TYPICAL:.0f} s"
    )


def _plan(figures: dict[str, Any], *, rated: bool) -> str:
    """A million hours in clips of the typical length."""
    hours = figures.get("ray", figures["plain"]) + (figures["score"] if rated else 0.0)  # of a core, per 1,000 hours
    moved = figures["read"] + figures["written"] + (figures["score_read"] if rated else 0.0)
    cost = f"{1000 * hours:,.0f} core-hours, {1000 * hours / CORES / 24:.1f} days of {CORES:,} cores"
    drivers = ""
    if "driver" in figures:  # each keeps up with so many clips a second
        wanted = math.ceil(CORES * 1000 / hours / TYPICAL * max(figures["driver"], figures["ledger_sync"] / BATCH))
        one = "1 driver" if wanted == 1 else f"{wanted} drivers with a part of the manifest each"
        drivers = f" and {one}, if clips last {TYPICAL:.0f} s"
    return f"{cost}{drivers}; {3.6e9 * moved / 1e12:.0f} TB read and written"


if __name__ == "__main__":
    main()
