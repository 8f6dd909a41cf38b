"""What a run that was killed, or that lost something, leaves behind, and how the next start goes on from it."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
import soundfile

import clips
from hamiltone.audio import partial
from hamiltone.corpus import Clip, CorpusJob, in_process, run_corpus
from hamiltone.corpus.stage import target
from hamiltone.errors import InputError
from hamiltone.weights import graphs

MODEL = "compact"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return clips.folder(tmp_path_factory.mktemp("corpus") / "in", 6, seconds=0.5)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("whole") / "out"
    run_corpus(CorpusJob(source, output, MODEL))
    return output


def test_what_failed_is_tried_again_by_the_same_call(tmp_path):
    clips.write_clip(tmp_path / "there.wav", 0, seconds=0.5)
    rows = [{"audio_filepath": "late.wav"}, {"audio_filepath": "there.wav"}]
    job = CorpusJob(clips.manifest(tmp_path / "m.jsonl", rows), tmp_path / "out", MODEL)
    assert run_corpus(job).errors == 1
    clips.write_clip(tmp_path / "late.wav", 1, seconds=0.5)
    summary = run_corpus(job)
    assert (summary.new, summary.errors, summary.enhanced) == (1, 0, 2)


def test_a_second_run_is_kept_out_while_one_writes(source, tmp_path):
    job = CorpusJob(source, tmp_path / "out", MODEL)

    def engine(chosen, job, batch):
        with pytest.raises(InputError, match="another hamiltone corpus"):
            run_corpus(job)
        yield from in_process(chosen, job, batch)

    assert run_corpus(job, engine).enhanced == 6


def test_what_an_engine_loses_is_tried_alone_and_only_then_an_error(source, tmp_path):
    """As Ray does when a clip takes its worker with it: the batch never comes back, nor the clip to be next."""
    given, poison = [], "speaker0/take_0000.wav"

    def engine(chosen, job, batch):
        given.append((batch, len(chosen)))
        lost = 0 if chosen[0].id != poison else 3 if batch > 1 else 2
        yield from in_process(chosen[lost:], job, batch)

    job = CorpusJob(source, tmp_path / "out", MODEL)
    written = job.output / target(Clip(poison, poison), "flac")
    written.parent.mkdir(parents=True)
    (job.output / ".hamiltone").mkdir()
    (job.output / ".hamiltone" / "run.json").write_text(json.dumps(job.settings()))
    written.write_bytes(b"by the worker, before it died")
    summary = run_corpus(job, engine)
    assert given == [(8, 6), (1, 3), (1, 1), (1, 1)]
    assert (summary.enhanced, summary.errors) == (5, 1)
    assert not written.exists() and len(list((job.output / "audio").rglob("*.flac"))) == 5
    (row,) = clips.rows(tmp_path / "out" / "errors.jsonl")
    assert row["id"] == poison and "worker died" in str(row["error"])


class FullDisk:
    """A raw file on a disk without space."""

    def __init__(self, raw: BinaryIO) -> None:
        self.seek, self.tell = raw.seek, raw.tell

    def write(self, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_stops_the_run_instead_of_failing_every_clip_and_the_same_call_goes_on(
    source, whole, tmp_path, monkeypatch
):
    job, done, sink = CorpusJob(source, tmp_path / "out", MODEL), list[int](), partial.Sink

    def engine(chosen, job, batch):
        with monkeypatch.context() as patch:
            for results in in_process(chosen, job, batch):
                done.append(len(results))
                if len(done) == 3:
                    patch.setattr(partial, "Sink", lambda raw, head: sink(FullDisk(raw), head))
                yield results

    with pytest.raises(InputError, match="out: No space left on device; make room and run the same command again"):
        run_corpus(job, engine)
    assert len(done) == 4 and not (job.output / "manifest.jsonl").exists()
    assert run_corpus(job).new == 3
    assert clips.digests(job.output) == clips.digests(whole)


def test_a_clip_that_comes_while_a_run_is_under_way_waits_for_the_next_start(tmp_path):
    source = clips.folder(tmp_path / "in", 2, seconds=0.2)
    job = CorpusJob(source, tmp_path / "out", MODEL)

    def engine(chosen, job, batch):
        yield from in_process(chosen, job, batch)
        clips.write_clip(source / "late.wav", 9, seconds=0.2)

    summary = run_corpus(job, engine)
    assert (summary.enhanced, summary.errors) == (2, 1)
    assert "added during the run" in str(clips.rows(tmp_path / "out" / "errors.jsonl")[0]["error"])
    summary = run_corpus(job)
    assert (summary.enhanced, summary.errors, summary.new) == (3, 0, 1)


def test_a_result_that_vanished_or_shrank_is_made_again(source, whole):
    before = clips.digests(whole)
    first, second, *_ = sorted((whole / "audio").rglob("*.flac"))
    first.unlink()
    os.truncate(second, 100)
    assert run_corpus(CorpusJob(source, whole, MODEL)).new == 2
    assert clips.digests(whole) == before


def test_a_row_that_names_another_sound_than_before_is_done_again(tmp_path):
    clips.write_clip(tmp_path / "long.wav", 0, seconds=0.6)
    clips.write_clip(tmp_path / "short.wav", 1, seconds=0.2)
    rows = [{"id": "a", "audio_filepath": "long.wav"}, {"id": "b", "audio_filepath": "short.wav"}]
    job = CorpusJob(clips.manifest(tmp_path / "m.jsonl", rows), tmp_path / "out", MODEL)
    run_corpus(job)
    assert run_corpus(job).new == 0

    rows[0] |= {"offset": 0.1, "duration": 0.3}
    clips.manifest(tmp_path / "m.jsonl", rows)
    assert run_corpus(job).new == 1
    assert [row["seconds"] for row in clips.rows(job.output / "manifest.jsonl")] == [0.3, 0.2]

    clips.write_clip(tmp_path / "short.wav", 2, seconds=0.4)
    assert run_corpus(job).new == 1
    assert [row["seconds"] for row in clips.rows(job.output / "manifest.jsonl")] == [0.3, 0.4]
    (tmp_path / "short.wav").unlink()
    assert run_corpus(job).new == 0  # what is done stays


def test_a_start_that_was_killed_before_it_wrote_its_settings_is_no_foreign_folder(source, whole, tmp_path):
    state = tmp_path / "out" / ".hamiltone"
    state.mkdir(parents=True)
    (state / ".run.json.0123abcd.part").write_bytes(b'{"input"')
    assert run_corpus(CorpusJob(source, tmp_path / "out", MODEL)).enhanced == 6
    assert clips.digests(tmp_path / "out") == clips.digests(whole)


def test_settings_that_are_damaged_are_one_line(source, tmp_path):
    job = CorpusJob(clips.folder(tmp_path / "in", 1, seconds=0.2), tmp_path / "out", MODEL)
    run_corpus(job)
    for content in (b"\xff\xfe{", b"[1]", b""):
        (job.output / ".hamiltone" / "run.json").write_bytes(content)
        with pytest.raises(InputError, match="is damaged; choose another output"):
            run_corpus(job)


def test_a_bundled_model_that_changed_under_its_name_does_not_go_on_with_what_the_old_one_began(tmp_path, monkeypatch):
    job = CorpusJob(clips.folder(tmp_path / "in", 1, seconds=0.2), tmp_path / "out", None)
    run_corpus(job)
    assert run_corpus(replace(job, model="compact")).new == 0  # the same one by its name
    before, other = clips.digests(job.output), graphs()["live.window"]
    monkeypatch.setattr("hamiltone.runtime.backend.graphs", lambda: {"compact": other})
    with pytest.raises(InputError, match="belongs to another run, with model 'sha256:"):
        run_corpus(job)
    assert clips.digests(job.output) == before


def test_another_version_of_the_engine_does_not_go_on_either(tmp_path, monkeypatch):
    job = CorpusJob(clips.folder(tmp_path / "in", 1, seconds=0.2), tmp_path / "out", MODEL)
    run_corpus(job)
    monkeypatch.setattr("hamiltone.corpus.run.version", lambda name: "0.1")
    with pytest.raises(InputError, match=r"with engine 'onnxruntime .*' instead of 'onnxruntime 0.1'"):
        run_corpus(job)


KILLED = """
import pathlib, signal, sys
from hamiltone.corpus import CorpusJob, run_corpus
job = CorpusJob(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3])
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[4]))  # seconds of the processor; Python has no handler for it
run_corpus(job)
"""


def test_killed_at_five_random_moments_and_resumed_the_output_is_byte_equal_each_time(source, whole, tmp_path):
    """The process ends at once in the middle of clips, of writes and of the manifests; nothing half-written counts."""
    started = time.process_time()
    run_corpus(CorpusJob(source, tmp_path / "measured", MODEL))
    spent, rng = time.process_time() - started, random.Random(0)
    for turn in range(5):
        output = tmp_path / f"out{turn}"
        given = [str(source), str(output), MODEL, str(spent * rng.uniform(0.02, 0.9))]
        assert subprocess.run([sys.executable, "-c", KILLED, *given]).returncode == -signal.SIGPROF
        for path in (output / "audio").rglob("*.flac"):
            soundfile.read(path)  # whatever has a name is whole
        assert run_corpus(CorpusJob(source, output, MODEL)).enhanced == 6
        assert clips.digests(output) == clips.digests(whole)
