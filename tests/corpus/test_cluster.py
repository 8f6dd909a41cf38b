"""The engine on Ray: two nodes on this machine, workers and a node that are killed, a driver that is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import clips
from hamiltone.corpus import Clip, CorpusJob, EnhanceStage, Result, cluster, run_corpus
from hamiltone.errors import InputError

ray: Any = pytest.importorskip("ray", reason="needs the extra corpus")
pytest.importorskip("ray.data", reason="needs the extra corpus")

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
MODEL = "compact"
NICENESS = "RAY_worker_niceness"


@pytest.fixture(scope="module")
def cluster_of_two() -> Iterator[Any]:
    running = clips.two_nodes(1)
    yield running
    running.shutdown()


@pytest.fixture
def nodes(cluster_of_two) -> Iterator[Any]:
    """Two nodes, whatever the test before did to one of them, and no connection left open."""
    if not cluster_of_two.worker_nodes:
        clips.add_node(cluster_of_two, 1)
    handler = signal.getsignal(signal.SIGTERM)
    yield cluster_of_two
    ray.shutdown()
    signal.signal(signal.SIGTERM, handler)  # Ray's own would outlive the test


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return clips.folder(tmp_path_factory.mktemp("corpus") / "in", 48, seconds=0.5)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory) -> dict[str, str]:
    output = tmp_path_factory.mktemp("whole") / "out"
    run_corpus(CorpusJob(source, output, MODEL))
    return clips.digests(output)


def test_a_started_engine_leaves_the_signals_of_the_program_alone(fake, tmp_path):
    handler = signal.getsignal(signal.SIGTERM)
    init = fake.init

    def as_ray_does(**options: Any) -> None:
        init(**options)
        signal.signal(signal.SIGTERM, lambda *_: None)

    fake.init = as_ray_does
    assert cluster.RayEngine((1, 1)).most == 1 and fake.started
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.fixture
def fake(monkeypatch) -> SimpleNamespace:
    """A Ray of two nodes that only notes how it is started; the second one may be lost."""
    started: list[dict[str, Any]] = []
    running = SimpleNamespace(
        started=started,
        is_initialized=lambda: bool(started),
        init=lambda **options: started.append(options),
        shutdown=started.clear,
        cluster_resources=lambda: {"CPU": 12.0, "memory": 3e9},
        nodes=lambda: [{"NodeID": "a", "Alive": True, "Resources": {"memory": 1e9}}],
    )
    monkeypatch.setattr(cluster, "_import_ray", lambda: running)
    return running


def test_without_a_number_of_workers_there_are_as_many_as_the_cluster_has_cores(fake):
    with cluster.RayEngine(None, "auto") as engine:
        assert engine.most == 12
    with cluster.RayEngine((2, 40), "auto") as engine:
        assert engine.most == 40  # nodes may join later
    with cluster.RayEngine((1, 3)) as engine:
        assert engine.most == 3 and fake.started[0]["num_cpus"] == 3


def test_workers_of_this_machine_are_not_slowed_down_by_ray(fake, monkeypatch):
    monkeypatch.delenv(NICENESS, raising=False)
    with cluster.RayEngine(None, "auto") as engine:
        assert engine.most and NICENESS not in os.environ  # a cluster has settings of its own
    with cluster.RayEngine() as engine:
        assert engine.most and os.environ[NICENESS] == "0"
    monkeypatch.setenv(NICENESS, "5")
    with cluster.RayEngine() as engine:
        assert engine.most and os.environ[NICENESS] == "5"


@pytest.mark.parametrize("failures", [2, 3])
def test_ray_that_does_not_start_in_time_on_a_busy_machine_gets_three_tries(fake, failures):
    init, left = fake.init, [RuntimeError("The current node timed out during startup.")] * failures

    def slow(**options: Any) -> None:
        if left:
            raise left.pop()
        init(**options)

    fake.init = slow
    if failures < 3:
        assert cluster.RayEngine((1, 2)).most == 2 and len(fake.started) == 1
        return
    with pytest.raises(InputError, match="cannot start Ray: The current node timed out"):
        _ = cluster.RayEngine((1, 2)).most
    with pytest.raises(InputError, match="cannot start Ray at auto"):
        left.extend([RuntimeError("nobody is there"), RuntimeError("must not be reached")])
        _ = cluster.RayEngine((1, 2), "auto").most
    assert len(left) == 1  # where a cluster is to be joined, nothing else is tried


def test_no_more_workers_are_awaited_at_first_than_there_is_room_for():
    assert cluster._least(4, 100, {"CPU": 8.0, "memory": 1000.0}) == 4
    assert cluster._least(16, 100, {"CPU": 8.0, "memory": 1000.0}) == 8
    assert cluster._least(16, 400, {"CPU": 8.0, "memory": 1000.0}) == 2
    assert cluster._least(16, 400, {}) == 1


def test_a_worker_reserves_the_memory_that_it_takes_or_all_that_a_node_has(tmp_path):
    nodes = [
        {"Alive": alive, "Resources": {"memory": size}} for alive, size in ((True, 1e8), (True, 9e9), (False, 9e9))
    ]
    graph, torch, rated = (
        cluster._memory(CorpusJob(tmp_path, tmp_path, model, score=score), nodes)
        for model, score in (("compact", False), ("toy", False), ("compact", True))
    )
    assert 250e6 < graph < torch and graph < rated < 9e9
    assert cluster._memory(CorpusJob(tmp_path, tmp_path), nodes[:1]) == 1e8


def test_a_pool_of_workers_with_one_clip_each_grows():
    context = cluster._context(ray)
    assert context.autoscaling_config.actor_pool_util_upscaling_threshold <= cluster._held(1)
    assert ray.data.DataContext.get_current().autoscaling_config is not context.autoscaling_config


def test_the_patience_with_a_lost_node_is_that_of_the_longest_batch_in_work():
    short = [Clip(str(number), "/none", offset=0.0, duration=2.0) for number in range(40)]
    long = Clip("long", "/none", offset=0.0, duration=3600.0)
    assert cluster._patience(short, 8, 2) == cluster._PATIENCE
    assert cluster._patience([*short[:9], long, *short], 8, 2) >= 3600 + 7 * 2
    assert cluster._patience([*short[:32], long], 8, 2) == cluster._PATIENCE  # its turn has not come
    assert cluster._patience([short[0], short[1], long], 1, 2) == cluster._PATIENCE
    assert cluster._patience([], 8, 2) == cluster._PATIENCE


def test_a_pool_in_a_long_clip_is_not_given_up_and_one_without_hope_is(fake, monkeypatch):
    """Time is counted in looks at an empty queue; the lost node is seen from the beginning."""
    monkeypatch.setattr(cluster, "_LOOK", 0.001)
    monkeypatch.setattr(cluster, "_PATIENCE", 0.02)
    monkeypatch.setattr(cluster, "_pump", lambda data, found: None)
    looks: list[int] = []
    monkeypatch.setattr(cluster.RayEngine, "_nodes", lambda self: looks.append(1) or {"a"})
    monkeypatch.setattr(cluster.RayEngine, "_pool", lambda *_: None)
    counts = []
    for seconds in (0.001, 0.5):
        looks.clear()
        clip = Clip("a", "/none", offset=0.0, duration=seconds)
        engine = cluster.RayEngine((1, 1), "auto")
        assert list(engine._run({"a": clip}, CorpusJob(Path("in"), Path("out")), 8, {"a", "b"}, 1)) == []
        counts.append(len(looks))
    assert counts[0] < 5 and counts[1] > 900


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
        summary = run_corpus(CorpusJob(tmp_path / "in", tmp_path / "out", MODEL), engine)
    assert (summary.enhanced, summary.errors) == (3, 1)
    (row,) = clips.rows(tmp_path / "out" / "errors.jsonl")
    assert row["id"] == "speaker0/take_0002.wav" and "worker died" in str(row["error"])


def test_workers_and_a_node_are_killed_and_every_clip_comes_once_as_in_one_process(nodes, source, whole, tmp_path):
    """Each dies in the middle of its work, whatever the pace of the machine; a file in `marks` says that it did."""
    ids = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.wav"))
    fatal, late, marks = {ids[3], ids[12]}, {ids[36], ids[44]}, tmp_path / "marks"
    marks.mkdir()

    class Failing(EnhanceStage):
        def enhance(self, clip: Clip) -> Result:
            if clip.id in fatal and not (mark := marks / Path(clip.id).stem).exists():
                mark.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            deadline = time.monotonic() + 600
            while clip.id in late and not (marks / "lost").exists():  # so that a node is lost with unfinished work
                if time.monotonic() > deadline:
                    return Result(clip.id, error="no node was lost")
                time.sleep(0.1)
            return super().enhance(clip)

    with cluster.RayEngine((2, 2), nodes.address, Failing) as engine:

        def losing(chosen: list[Clip], job: CorpusJob, batch: int) -> Iterator[list[Result]]:
            for results in engine(chosen, job, batch):  # called again for clips that were lost
                yield results
                if nodes.worker_nodes and len(list(marks.iterdir())) == 2:
                    nodes.remove_node(*nodes.worker_nodes, allow_graceful=False)
                    (marks / "lost").touch()

        summary = run_corpus(CorpusJob(source, tmp_path / "out", MODEL), losing)
    killed = {path.read_text() for path in marks.iterdir() if path.name != "lost"}
    assert len(killed) == 2 and (marks / "lost").exists()
    assert (summary.enhanced, summary.errors, summary.new) == (48, 0, 48)
    assert clips.digests(tmp_path / "out") == whole


KILLED = """
import os, pathlib, signal, sys
from hamiltone.corpus import CorpusJob, run_corpus
from hamiltone.corpus.cluster import RayEngine

def tick(status):
    if status.done >= 12:
        os.kill(os.getpid(), signal.SIGKILL)

with RayEngine((1, 2)) as engine:
    run_corpus(CorpusJob(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]), engine, tick)
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
