"""The whole promise at once, on a cluster that fails: ``pytest -m soak tests/corpus``.

HAMILTONE_SOAK_CLIPS and HAMILTONE_SOAK_MINUTES make it smaller than the 2,000 clips and the clip of 180 minutes.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

import clips
from hamiltone.corpus import Clip, Job, Result, run_corpus
from hamiltone.corpus.cluster import RayEngine
from hamiltone.corpus.run import Status

pytest.importorskip("ray", reason="needs the extra corpus")

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("ignore")]
COUNT = int(os.environ.get("HAMILTONE_SOAK_CLIPS", "2000"))
MINUTES = float(os.environ.get("HAMILTONE_SOAK_MINUTES", "180"))


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Short clips, and one that is very long among them."""
    folder = clips.folder(tmp_path_factory.mktemp("soak") / "in", COUNT - 1, seconds=1.0)
    rng = np.random.default_rng(0)
    with soundfile.SoundFile(folder / "speaker0" / "long.flac", "w", 16_000, 1, "PCM_16") as file:
        for _ in range(round(MINUTES * 6)):
            file.write(0.1 * rng.standard_normal(160_000).clip(-3, 3))
    return folder


class Memory(threading.Thread):
    """The resident memory of workers that clips have come from, in MB, sampled every second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: dict[int, list[float]] = {}
        self._over = threading.Event()

    def run(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE") / 1e6
        while not self._over.wait(1.0):
            for number in list(self.samples):
                try:
                    resident = int(Path(f"/proc/{number}/statm").read_text().split()[1])
                except (OSError, IndexError):
                    continue
                self.samples[number].append(resident * page)

    def stop(self) -> None:
        self._over.set()
        self.join()


def test_killed_workers_and_a_lost_node_change_nothing_and_memory_is_constant(source, tmp_path):
    alone = tmp_path / "alone"
    started = time.process_time()
    run_corpus(Job(source, alone))
    print(f"one process: {time.process_time() - started:.1f} s of its processor")

    nodes = clips.two_nodes(2)
    (second,) = nodes.worker_nodes
    memory, happened = Memory(), list[str]()
    memory.start()
    try:
        with RayEngine((2, 4), nodes.address) as engine:

            def failing(chosen: list[Clip], job: Job, batch: int) -> Iterator[list[Result]]:
                for results in engine(chosen, job, batch):
                    yield results
                    worker = int(str(results[0].worker).split(":")[1])
                    memory.samples.setdefault(worker, [])
                    done = len(seen)
                    if len(happened) < 3 and done > COUNT * (1 + len(happened)) / 8:
                        os.kill(worker, signal.SIGKILL)
                        happened.append("worker")
                    elif len(happened) == 3 and done > COUNT / 2:
                        nodes.remove_node(second, allow_graceful=False)
                        happened.append("node")

            seen: set[int] = set()

            def tick(status: Status) -> None:
                seen.update(range(status.done))

            summary = run_corpus(Job(source, tmp_path / "out"), failing, tick)
    finally:
        memory.stop()
        nodes.shutdown()
    assert happened == ["worker"] * 3 + ["node"]
    assert (summary.enhanced, summary.errors, summary.new) == (COUNT, 0, COUNT)
    assert clips.digests(tmp_path / "out") == clips.digests(alone)
    for number, sizes in memory.samples.items():
        print(f"worker {number}: {len(sizes)} samples, {min(sizes, default=0):.0f} to {max(sizes, default=0):.0f} MB")
        if len(sizes) > 20:  # after the model has seen a few clips
            assert max(sizes[10:]) < 1.2 * np.median(sizes[10:]) + 50
