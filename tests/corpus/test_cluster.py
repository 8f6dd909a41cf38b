"""The engine on Ray: two nodes on this machine, workers and a node that are killed, a driver that is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clips
from hamiltone.corpus import Clip, EnhanceStage, Job, Result, cluster, run_corpus

ray: Any = pytest.importorskip("ray", reason="needs the extra corpus")
pytest.importorskip("ray.data", reason="needs the extra corpus")

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
MODEL = "compact"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    running = clips.two_nodes(1)
    yield running
    running.shutdown()


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return clips.folder(tmp_path_factory.mktemp("corpus") / "in", 48, seconds=0.5)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory) -> dict[str, str]:
    output = tmp_path_factory.mktemp("whole") / "out"
    run_corpus(Job(source, output, MODEL))
    return clips.digests(output)


def test_the_stage_works_inside_map_batches(nodes, source, tmp_path):
    rows = [{"audio_filepath": str(path), "text": path.stem} for path in sorted(source.rglob("*.wav"))[:4]]
    ray.init(address=nodes.address, log_to_driver=False)
    data = ray.data.from_items(rows).map_batches(
        EnhanceStage,
        fn_constructor_kwargs={"output": tmp_path / "out", "model": MODEL},
        batch_size=2,
        compute=ray.data.ActorPoolStrategy(size=1),
    )
    found = data.take_all()
    ray.shutdown()
    assert {row["text"] for row in found} == {row["text"] for row in rows}
    assert all((tmp_path / "out" / row["enhanced_filepath"]).is_file() and not row["error"] for row in found)


def test_a_clip_that_takes_its_worker_with_it_is_an_error_and_no_dead_job(nodes, tmp_path, monkeypatch):
    clips.folder(tmp_path / "in", 4, seconds=0.2)
    monkeypatch.setattr(cluster, "_RETRIES", 1)

    class Fragile(EnhanceStage):
        def enhance(self, clip: Clip) -> Result:
            if clip.id.endswith("0002.wav"):
                os.kill(os.getpid(), signal.SIGKILL)
            return super().enhance(clip)

    with cluster.RayEngine((1, 1), nodes.address, Fragile) as engine:
        summary = run_corpus(Job(tmp_path / "in", tmp_path / "out", MODEL), engine)
    assert (summary.enhanced, summary.errors) == (3, 1)
    (row,) = clips.rows(tmp_path / "out" / "errors.jsonl")
    assert row["id"] == "speaker0/take_0002.wav" and "worker died" in str(row["error"])


def test_workers_and_a_node_are_killed_and_every_clip_comes_once_as_in_one_process(nodes, source, whole, tmp_path):
    """The last test of the two nodes: one of them is gone after it."""
    (second,) = nodes.worker_nodes
    happened: list[str] = []

    with cluster.RayEngine((2, 2), nodes.address) as engine:

        def failing(chosen: list[Clip], job: Job, batch: int) -> Iterator[list[Result]]:
            for results in engine(chosen, job, batch):  # called again for clips that were lost
                yield results
                if len(happened) < 2:
                    os.kill(int(str(results[0].worker).split(":")[1]), signal.SIGKILL)
                    happened.append("worker")
                elif len(happened) == 2:
                    nodes.remove_node(second, allow_graceful=False)
                    happened.append("node")

        summary = run_corpus(Job(source, tmp_path / "out", MODEL), failing)
    assert happened == ["worker", "worker", "node"]
    assert (summary.enhanced, summary.errors, summary.new) == (48, 0, 48)
    assert clips.digests(tmp_path / "out") == whole


KILLED = """
import os, pathlib, signal, sys
from hamiltone.corpus import Job, run_corpus
from hamiltone.corpus.cluster import RayEngine

def tick(status):
    if status.done >= 12:
        os.kill(os.getpid(), signal.SIGKILL)

with RayEngine((1, 2)) as engine:
    run_corpus(Job(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]), engine, tick)
"""


def test_a_driver_killed_in_the_middle_is_resumed_by_the_command(source, whole, tmp_path):
    output = tmp_path / "out"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(source), str(output), MODEL], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    done = len((output / ".hamiltone" / "done.jsonl").read_text().splitlines())
    assert 12 <= done < 48
    command = [sys.executable, "-m", "hamiltone", "corpus", str(source), "-o", str(output), "--model", MODEL]
    ended = subprocess.run([*command, "--workers", "1,2", "--json"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["new"] == 48 - done
    assert "clips 48 of 48" in ended.stderr and "\x1b" not in ended.stderr
    assert clips.digests(output) == whole
