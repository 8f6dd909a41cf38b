"""Corpora of short clips for the tests: synthetic speech in noise, as folders, manifests and shards."""

import hashlib
import json
import os
import signal
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from hamiltone.data.synthetic import speech


def write_clip(path: Path, seed: int, *, seconds: float = 1.0, rate: int = 16_000, channels: int = 1) -> Path:
    """A clip of speech with white noise, 16-bit PCM."""
    rng = np.random.default_rng(seed)
    voice = speech(rng, round(seconds * rate))
    noisy = voice[:, None] + 0.02 * rng.standard_normal((len(voice), channels))
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, noisy.clip(-1, 1), rate, subtype="PCM_16")
    return path


def write_long_clip(path: Path, minutes: float) -> Path:
    """White noise, written block by block."""
    rng = np.random.default_rng(0)
    with soundfile.SoundFile(path, "w", 16_000, 1, "PCM_16") as file:
        for _ in range(round(6 * minutes)):
            file.write((0.1 * rng.standard_normal(160_000, np.float32)).clip(-1, 1))
    return path


def folder(path: Path, count: int, *, seconds: float = 1.0) -> Path:
    """`count` clips, in two folders."""
    for number in range(count):
        write_clip(path / f"speaker{number % 2}" / f"take_{number:04}.wav", number, seconds=seconds)
    return path


def manifest(path: Path, rows: list[dict[str, object] | str]) -> Path:
    """A JSONL manifest; a row that is text is written as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def shard(path: Path, clips: list[Path]) -> Path:
    """A tar of samples in WebDataset's convention: a sound, its JSON and its text."""
    with tarfile.open(path, "w") as tar:
        for number, clip in enumerate(clips):
            about = path.parent / f"{number}.json"
            about.write_text(json.dumps({"speaker": number}))
            words = path.parent / f"{number}.txt"
            words.write_text(f"take {number}")
            for file in (clip, about, words):
                tar.add(file, f"sample{number:03}{file.suffix}")
                if file is not clip:
                    file.unlink()
    return path


def two_nodes(cpus: int) -> Any:
    """A Ray cluster of a head and a second node, each with an object store of its own."""
    from ray.cluster_utils import Cluster

    # or a busy machine starves the workers, and they are given up before they have started
    os.environ |= {"RAY_worker_niceness": "0", "RAY_worker_register_timeout_seconds": "300"}
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster()
    try:
        add_node(cluster, cpus, include_dashboard=False)
        add_node(cluster, cpus)
    except BaseException:
        cluster.shutdown()
        raise
    return cluster


def add_node(cluster: Any, cpus: int, **options: Any) -> None:
    """Start one more node of a Ray cluster.

    A raylet gives up if its helpers have not started within 15 seconds, which a very busy machine may need, and has no
    option for it: five tries, the later ones with files that are in memory by then.
    """
    for left in reversed(range(5)):
        try:
            cluster.add_node(num_cpus=cpus, object_store_memory=80 << 20, **options)
            return
        except Exception:
            if not left:
                raise


def kill(worker: int) -> bool:
    """Kill a process; False if it has ended by itself, as workers of a pool that shrinks do."""
    try:
        os.kill(worker, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def digests(output: Path) -> dict[str, str]:
    """What a run has written, apart from its private state: names and what is in them."""
    files = sorted(path for path in output.rglob("*") if path.is_file() and ".hamiltone" not in path.parts)
    return {path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def rows(path: Path) -> list[dict[str, object]]:
    """The rows of a manifest."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
