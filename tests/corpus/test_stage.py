"""The stage by itself: clips one by one and in batches, and the memory it takes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clips
from hamiltone.corpus import Clip, EnhanceStage, Result
from hamiltone.corpus.columns import batch_clips, clip_columns, column_results, result_columns
from hamiltone.errors import InputError

MODEL = "compact"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return clips.folder(tmp_path_factory.mktemp("corpus") / "in", 6, seconds=0.5)


def test_batches_of_ray_carry_clips_and_results_unchanged():
    there = [Clip("a", "/a.wav"), Clip("b", "/b.tar", 512, 100, ".flac"), Clip("c", "/c.wav", offset=0.0, duration=2.5)]
    there += [Clip(id, id) for id in ("../up/a.wav", "名前 🎵", "a\nb", "x" * 5000, "-1", "nan", "a\0")]
    columns = {name: np.array(values, object) for name, values in clip_columns(there).items()}
    assert batch_clips(columns) == there
    assert batch_clips({"audio_filepath": np.array(["/a.wav"])}) == [Clip("/a.wav", "/a.wav")]

    results = [Result("a", "audio/a.flac", 1.5, bytes=10), Result("b", error="broken", worker="w")]
    assert column_results(result_columns(results)) == results


def test_the_stage_takes_batches_as_dictionaries_of_columns(source, tmp_path):
    stage = EnhanceStage(tmp_path / "out", model=MODEL)
    paths = sorted(source.rglob("*.wav"))[:2]
    batch = stage({"audio_filepath": np.array([*map(str, paths), "/none.wav"]), "text": np.array(["x", "y", "z"])})
    assert batch["text"].tolist() == ["x", "y", "z"]
    assert [bool(error) for error in batch["error"]] == [False, False, True]
    assert all((tmp_path / "out" / path).is_file() for path in batch["enhanced_filepath"][:2])


@pytest.mark.parametrize(
    ("name", "words"),
    [("seconds", "a column 'seconds', which the stage writes itself"), ("audio", "a column audio_filepath, got audio")],
)
def test_a_batch_whose_columns_would_be_lost_or_name_no_clips_is_refused(source, tmp_path, name, words):
    paths = np.array([str(sorted(source.rglob("*.wav"))[0])])
    batch = {name: paths} if name == "audio" else {"audio_filepath": paths, name: np.array([1.0])}
    with pytest.raises(InputError, match=words):
        EnhanceStage(tmp_path / "out", model=MODEL)(batch)
    assert not list((tmp_path / "out").rglob("*.flac"))


def test_a_clip_with_the_id_of_another_one_does_not_replace_its_file(source, tmp_path):
    stage, paths = EnhanceStage(tmp_path / "out", model=MODEL), [str(path) for path in sorted(source.rglob("*.wav"))]
    first = stage({"id": np.array(["a", "a"]), "audio_filepath": np.array(paths[:2])})
    assert first["error"][0] == "" and "'a' is that of another clip" in first["error"][1]
    written = (tmp_path / "out" / first["enhanced_filepath"][0]).read_bytes()
    again = stage({"id": np.array(["a", "b", "a"]), "audio_filepath": np.array([paths[0], paths[1], paths[2]])})
    assert [bool(error) for error in again["error"]] == [False, False, True]  # Ray may give a batch twice
    assert (tmp_path / "out" / first["enhanced_filepath"][0]).read_bytes() == written


def test_a_clip_is_reported_only_when_the_name_of_its_file_is_synced(source, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("hamiltone.corpus.stage.sync_folder", lambda folder: synced.extend(folder.iterdir()))
    result = EnhanceStage(tmp_path / "out", model=MODEL).enhance(Clip("a", str(sorted(source.rglob("*.wav"))[0])))
    assert synced == [tmp_path / "out" / str(result.enhanced_filepath)]


def test_a_stage_never_writes_over_a_clip_of_its_own(source, tmp_path):
    stage = EnhanceStage(tmp_path / "out", model=MODEL)
    first = stage.enhance(Clip("a", str(sorted(source.rglob("*.wav"))[0])))
    again = stage.enhance(Clip("a", str(tmp_path / "out" / str(first.enhanced_filepath))))
    assert first.error is None and "lies in the output" in str(again.error)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    again = EnhanceStage(tmp_path / "link", model=MODEL).enhance(
        Clip("a", str(tmp_path / "out" / str(first.enhanced_filepath)))
    )
    assert "lies in the output" in str(again.error) and (tmp_path / "out" / str(first.enhanced_filepath)).exists()


@pytest.mark.parametrize("broken", ["estimate_noise", "sync_folder"])
def test_after_an_error_there_is_no_file_not_even_that_of_an_earlier_time(source, tmp_path, monkeypatch, broken):
    def fail(*_):
        raise OSError("the disk is gone")

    clip, stage = Clip("a", str(sorted(source.rglob("*.wav"))[0])), EnhanceStage(tmp_path / "out", model=MODEL)
    for earlier in (False, True):
        assert not earlier or stage.enhance(clip).error is None
        with monkeypatch.context() as patch:
            patch.setattr(f"hamiltone.corpus.stage.{broken}", fail)
            assert "the disk is gone" in str(stage.enhance(clip).error)
        assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


def test_a_clip_that_fails_when_it_is_done_again_loses_its_file(tmp_path):
    path = clips.write_clip(tmp_path / "a.wav", 0, seconds=0.2)
    stage = EnhanceStage(tmp_path / "out", model=MODEL)
    written = tmp_path / "out" / str(stage.enhance(Clip("a", str(path))).enhanced_filepath)
    assert written.is_file()
    path.write_bytes(b"RIFF no sound at all")
    assert stage.enhance(Clip("a", str(path))).error and not written.exists()


def test_the_reason_of_a_failure_is_the_same_each_time(tmp_path, monkeypatch):
    """Parts and results have temporary files with random names, on which a manifest must not depend."""
    path = clips.write_clip(tmp_path / "one.wav", 0, seconds=1.0)
    shard = clips.shard(tmp_path / "a.tar", [path])
    shard.write_bytes(b"no sound" + shard.read_bytes()[8:])
    stage = EnhanceStage(tmp_path / "out", model=MODEL)
    member = Clip("a.tar/one", str(shard), 0, 1000, ".wav")
    reasons = [stage.enhance(member).error for _ in range(2)]
    assert reasons[0] == reasons[1] and str(reasons[0]).startswith("a.tar/one: ")

    def fail(source, target, scale):
        raise RuntimeError(f"cannot open {str(source)!r}, {target.with_name('.hamiltone-node-0123.part')}: why")

    monkeypatch.setattr("hamiltone.corpus.stage.estimate_noise", fail)
    error = stage.enhance(Clip("part", str(path), offset=0.25, duration=0.5)).error
    assert error == "RuntimeError: cannot open 'part', part: why"


def test_parts_of_one_recording_in_a_batch_have_files_of_their_own(tmp_path):
    path = str(clips.write_clip(tmp_path / "one.wav", 0, seconds=1.0))
    batch = {"audio_filepath": np.array([path] * 3), "offset": np.array([0.0, 0.5, np.nan]), "duration": [0.5] * 3}
    columns = EnhanceStage(tmp_path / "out", model=MODEL)(batch)
    assert columns["seconds"].tolist() == [0.5, 0.5, 1.0]
    assert len(set(columns["enhanced_filepath"])) == 3


UNCHANGED = """
import resource, sys
import numpy as np
from hamiltone.corpus import Clip, EnhanceStage

class Unchanged:
    sample_rate, n_fft, hop = 16_000, 400, 100
    def gain(self, spectrum):
        return np.ones_like(spectrum)

stage = EnhanceStage(sys.argv[1], model=Unchanged())
for path in sys.argv[2:]:
    result = stage.enhance(Clip(path, path))
    assert result.error is None, result.error
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("minutes", [10, pytest.param(180, marks=pytest.mark.soak)])
def test_a_long_clip_among_short_ones_takes_no_more_memory_than_they_do(tmp_path, minutes):
    """All but the model, which never sees more than a window; ten minutes are 38 MB of samples, three hours 690 MB."""
    short = clips.write_clip(tmp_path / "short.wav", 0, seconds=10.0)
    long = clips.write_long_clip(tmp_path / "long.flac", minutes)
    command = [sys.executable, "-c", UNCHANGED, str(tmp_path / "out"), *map(str, (short, short, long, short))]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    peaks = [int(line) / 1024 for line in ended.stdout.split()]  # in MB, the highest so far
    print(f"{minutes} minutes: {peaks}")
    assert peaks[3] - peaks[1] < 15
