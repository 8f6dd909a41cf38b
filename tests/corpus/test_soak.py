"""The whole promise on a cluster that fails: ``pytest -s -m soak tests/corpus``.

HAMILTONE_SOAK_CLIPS and HAMILTONE_SOAK_MINUTES make it smaller than 2,000 clips and a clip of 180 minutes.
Every second clip is cut out of the wav, flac, ogg and mp3 files in the folder HAMILTONE_SOAK_SPEECH; without it, all
are synthetic.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

import clips
from hamiltone.corpus import Clip, CorpusJob, EnhanceStage, Result, run_corpus
from hamiltone.corpus.cluster import RayEngine

pytest.importorskip("ray", reason="needs the extra corpus")

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("ignore")]
COUNT = int(os.environ.get("HAMILTONE_SOAK_CLIPS", "2000"))
MINUTES = float(os.environ.get("HAMILTONE_SOAK_MINUTES", "180"))
SPEECH = os.environ.get("HAMILTONE_SOAK_SPEECH")
SOUNDS = {".wav", ".flac", ".ogg", ".mp3"}
GROWTH = 4.0
"""MB that the memory of a worker may drift by over its clips: caches of the allocator, not a leak per clip."""


def weighing_stage() -> type[EnhanceStage]:
    """A stage that reports its process with the MB that it has after a clip.

    It is defined in a function so that Ray sends it to its workers whole: they cannot import this file.
    """

    class Weighed(EnhanceStage):
        def enhance(self, clip: Clip) -> Result:
            result = super().enhance(clip)
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
            return replace(result, worker=f"{result.worker}:{pages * resource.getpagesize() / 2**20:.2f}")

    return Weighed


def growth(memory: list[float]) -> float:
    """By how much memory grows over a series, by the straight line through all but the first quarter."""
    settled = np.array(memory[len(memory) // 4 :])
    return float(np.polyfit(np.arange(len(settled)), settled, 1)[0]) * len(settled)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Very short clips, of synthetic speech and of recordings."""
    folder = clips.folder(tmp_path_factory.mktemp("soak") / "in", COUNT, seconds=0.12)
    sounds = sorted(path for path in Path(SPEECH).rglob("*") if path.suffix.lower() in SOUNDS) if SPEECH else []
    recordings = [(samples, rate) for samples, rate in map(soundfile.read, sounds) if len(samples) > rate // 8]
    assert recordings or not SPEECH, f"there are no recordings in {SPEECH}"
    rng = random.Random(0)
    for path in sorted(folder.rglob("*.wav"))[::2] if recordings else []:
        samples, rate = rng.choice(recordings)
        start = rng.randrange(len(samples) - rate // 8)
        soundfile.write(path, samples[start : start + rate // 8], rate)
    return folder


@pytest.fixture(scope="module")
def alone(source, tmp_path_factory) -> dict[str, str]:
    """What one process makes of the clips."""
    output = tmp_path_factory.mktemp("alone") / "out"
    assert run_corpus(CorpusJob(source, output)).enhanced == COUNT
    return clips.digests(output)


def test_killed_workers_and_a_lost_node_change_nothing_and_no_worker_grows(source, alone, tmp_path):
    nodes = clips.two_nodes(2)
    (second,) = nodes.worker_nodes
    killed = list[int]()
    lost = False
    try:
        with RayEngine((2, 4), nodes.address, weighing_stage()) as engine:

            def failing(chosen: list[Clip], job: CorpusJob, batch: int) -> Iterator[list[Result]]:
                nonlocal lost
                done = 0
                for results in engine(chosen, job, batch):
                    yield results
                    done += len(results)
                    worker = int(str(results[0].worker).split(":")[1])
                    if len(killed) < 3 and done > COUNT * (1 + len(killed)) / 8 and worker not in killed:
                        if clips.kill(worker):  # else the pool has shrunk since, and another result comes
                            killed.append(worker)
                    elif len(killed) == 3 and done > COUNT / 2 and not lost:
                        nodes.remove_node(second, allow_graceful=False)
                        lost = True

            summary = run_corpus(CorpusJob(source, tmp_path / "out"), failing)
    finally:
        nodes.shutdown()
    print(f"killed workers {killed}, and a node: {lost}; {summary}")
    assert len(killed) == 3 and lost
    assert (summary.enhanced, summary.errors, summary.new) == (COUNT, 0, COUNT)
    ledger = clips.rows(tmp_path / "out" / ".hamiltone" / "done.jsonl")
    assert len(ledger) == len({str(entry["id"]) for entry in ledger}) == COUNT
    assert clips.digests(tmp_path / "out") == alone
    memory = defaultdict[str, list[float]](list)
    for entry in ledger:  # in the order in which they were done
        worker, _, size = str(entry["worker"]).rpartition(":")
        memory[worker].append(float(size))
    long = {worker: sizes for worker, sizes in memory.items() if len(sizes) >= COUNT / 10}  # others were killed early
    for worker, sizes in memory.items():
        print(f"{worker}: {len(sizes)} clips, MB now and then: {sizes[:: max(len(sizes) // 10, 1)]}")
    assert long and all(abs(growth(sizes)) < GROWTH for sizes in long.values())


def test_a_driver_killed_at_five_random_moments_leaves_what_is_resumed_byte_by_byte(source, alone, tmp_path):
    """Each time what it left is copied and resumed to its end in one process; the next driver goes on from it, too."""
    output, rng = tmp_path / "out", random.Random(0)
    done = output / ".hamiltone" / "done.jsonl"
    command = [sys.executable, "-m", "hamiltone", "corpus", str(source), "-o", str(output), "--workers", "1,2"]
    before = 0
    for turn in range(5):
        wanted = before + rng.randint(0, COUNT // 8)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            while child.poll() is None and (not done.exists() or done.read_bytes().count(b"\n") < wanted):
                time.sleep(0.05)
            time.sleep(rng.uniform(0, 1))
            child.kill()
        before = done.read_bytes().count(b"\n")
        assert child.returncode == -signal.SIGKILL and before < COUNT
        print(f"killed with {before} of {COUNT} clips in the list")
        copy = tmp_path / f"copy{turn}"
        shutil.copytree(output, copy, ignore=shutil.ignore_patterns("*.part"))
        assert run_corpus(CorpusJob(source, copy)).enhanced == COUNT
        assert clips.digests(copy) == alone
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert clips.digests(output) == alone


def test_the_memory_of_a_worker_is_constant_with_a_very_long_clip_among_short_ones(tmp_path):
    folder = tmp_path / "in"
    for number in range(20):
        clips.write_clip(folder / f"{number:02}.wav", number, seconds=6.0)
    clips.write_long_clip(folder / "09-long.flac", MINUTES)

    class Measured(EnhanceStage):
        def enhance(self, clip: Clip) -> Result:
            result = super().enhance(clip)
            return replace(result, note=f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")

    with RayEngine((1, 1), stage=Measured) as engine:
        assert run_corpus(CorpusJob(folder, tmp_path / "out"), engine).errors == 0
    peaks = [int(str(row["note"])) for row in clips.rows(tmp_path / "out" / "manifest.jsonl")]
    print(f"{MINUTES} minutes after nine clips; the highest memory of the worker so far, in MB: {peaks}")
    assert peaks[-1] - peaks[8] < 30
