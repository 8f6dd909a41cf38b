"""Runs in a plain loop: what is written and what is refused. Ray has a file of its own."""

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

import clips
from hamiltone.corpus import CorpusJob, Result, run_corpus
from hamiltone.errors import InputError

MODEL = "compact"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return clips.folder(tmp_path_factory.mktemp("corpus") / "in", 6, seconds=0.5)


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("whole") / "out"
    run_corpus(CorpusJob(source, output, MODEL))
    return output


def test_a_run_writes_every_clip_once_in_the_order_of_the_input(source, whole):
    found = clips.rows(whole / "manifest.jsonl")
    names = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.wav"))
    assert [row["id"] for row in found] == [row["audio_filepath"] for row in found] == names
    files = {str(row["enhanced_filepath"]) for row in found}
    assert files == {path.relative_to(whole).as_posix() for path in (whole / "audio").rglob("*.flac")}
    assert len(files) == 6 and not clips.rows(whole / "errors.jsonl")
    assert all(row["seconds"] == 0.5 and isinstance(row["snr_db"], float) for row in found)


def test_the_results_are_those_of_the_file_path(source, whole, tmp_path):
    from hamiltone.runtime import enhance_file

    row = clips.rows(whole / "manifest.jsonl")[0]
    enhance_file(source / str(row["id"]), tmp_path / "one.flac", model=MODEL)
    assert (tmp_path / "one.flac").read_bytes() == (whole / str(row["enhanced_filepath"])).read_bytes()


def test_rate_and_channels_are_kept_and_the_originals_are_not_touched(tmp_path):
    clips.write_clip(tmp_path / "in" / "stereo.wav", 1, seconds=0.5, rate=22_050, channels=2)
    before = clips.digests(tmp_path / "in")
    run_corpus(CorpusJob(tmp_path / "in", tmp_path / "out", MODEL, format="wav"))
    (result,) = (tmp_path / "out" / "audio").rglob("*.wav")
    info = soundfile.info(result)
    assert (info.samplerate, info.channels, info.frames, info.subtype) == (22_050, 2, 11_025, "PCM_16")
    assert clips.digests(tmp_path / "in") == before


def test_the_noise_estimate_is_the_level_of_what_was_taken_out(source, whole):
    row = clips.rows(whole / "manifest.jsonl")[0]
    noisy, _ = soundfile.read(source / str(row["id"]))
    clean, _ = soundfile.read(whole / str(row["enhanced_filepath"]))
    taken = np.mean((noisy - clean) ** 2)
    assert row["noise_db"] == pytest.approx(10 * np.log10(taken), abs=0.01)
    assert row["snr_db"] == pytest.approx(10 * np.log10(np.mean(clean**2) / taken), abs=0.01)


def test_the_noise_estimate_is_the_same_for_a_clip_that_was_made_softer(tmp_path):
    loud = 3 * soundfile.read(clips.write_clip(tmp_path / "soft.wav", 0))[0]
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in" / "loud.wav", 2 * loud / np.abs(loud).max(), 16_000, subtype="FLOAT")
    found = []
    for format in ("wav", "flac"):  # which holds the peaks, and which does not
        run_corpus(CorpusJob(tmp_path / "in", tmp_path / format, MODEL, format=format))
        found += clips.rows(tmp_path / format / "manifest.jsonl")
    assert found[0]["note"] is None and "softer" in str(found[1]["note"])
    for name in ("noise_db", "snr_db"):
        assert found[1][name] == pytest.approx(found[0][name], abs=0.05)


def test_bad_rows_become_errors_and_the_others_go_on(tmp_path):
    good = clips.write_clip(tmp_path / "good.wav", 0, seconds=0.5)
    (tmp_path / "noise.wav").write_bytes(b"RIFF no sound at all")
    (tmp_path / "empty.wav").write_bytes(b"")
    rows = [
        {"audio_filepath": "missing.wav", "text": "one"},
        {"audio_filepath": str(good), "text": "two", "id": "a"},
        {"audio_filepath": "noise.wav"},
        "{not json",
        {"audio_filepath": str(good), "id": "a"},
        {"audio_filepath": "empty.wav"},
        {"audio_filepath": str(good), "offset": 5.0, "duration": 1.0},
        {"audio_filepath": "good.wav", "text": "three"},
    ]
    summary = run_corpus(CorpusJob(clips.manifest(tmp_path / "m.jsonl", rows), tmp_path / "out", MODEL))
    assert (summary.clips, summary.enhanced, summary.errors) == (8, 2, 6)
    assert [row["text"] for row in clips.rows(tmp_path / "out" / "manifest.jsonl")] == ["two", "three"]
    errors = clips.rows(tmp_path / "out" / "errors.jsonl")
    for row, words in zip(
        errors,
        ["No such file", "not a readable", "not a line of JSON", "occurs earlier", "is empty", "shorter"],
        strict=True,
    ):
        assert words in str(row["error"]) and "\n" not in str(row["error"])
    assert errors[0]["text"] == "one"


def test_shards_and_parts_give_what_the_same_sound_in_a_file_gives(tmp_path):
    clip = clips.write_clip(tmp_path / "in" / "one.wav", 3, seconds=1.0)
    run_corpus(CorpusJob(clips.shard(tmp_path / "a.tar", [clip]), tmp_path / "tar", MODEL))
    run_corpus(CorpusJob(tmp_path / "in", tmp_path / "folder", MODEL))
    part = {"audio_filepath": "in/one.wav", "offset": 0.25, "duration": 0.5}
    run_corpus(CorpusJob(clips.manifest(tmp_path / "m.jsonl", [part]), tmp_path / "part", MODEL))
    samples, _ = soundfile.read(clip, dtype="int16")
    soundfile.write(tmp_path / "cut.wav", samples[4000:12_000], 16_000)
    run_corpus(
        CorpusJob(clips.manifest(tmp_path / "n.jsonl", [{"audio_filepath": "cut.wav"}]), tmp_path / "cut", MODEL)
    )

    def sound(output: str) -> bytes:
        (path,) = (tmp_path / output / "audio").rglob("*.flac")
        return path.read_bytes()

    assert sound("tar") == sound("folder")
    assert sound("part") == sound("cut")
    (row,) = clips.rows(tmp_path / "tar" / "manifest.jsonl")
    assert row["speaker"] == 0 and row["txt"] == "take 0"


def test_a_tar_that_ends_in_the_middle_is_a_row_of_the_error_manifest(tmp_path):
    clip = clips.write_clip(tmp_path / "in" / "one.wav", 3, seconds=0.5)
    shard = clips.shard(tmp_path / "a.tar", [clip] * 3)
    os.truncate(shard, 40_000)
    summary = run_corpus(CorpusJob(shard, tmp_path / "out", MODEL))
    assert summary.enhanced and summary.errors
    assert any("ends in the middle" in str(row["error"]) for row in clips.rows(tmp_path / "out" / "errors.jsonl"))


def test_a_filter_divides_the_manifest_and_another_one_costs_no_work(source, whole):
    ids = [row["id"] for row in clips.rows(whole / "manifest.jsonl")]
    middle = sorted(row["snr_db"] for row in clips.rows(whole / "manifest.jsonl"))[3]
    summary = run_corpus(CorpusJob(source, whole, MODEL, keep=f"snr_db >= {middle}"))
    kept, dropped = (clips.rows(whole / f"{name}.jsonl") for name in ("manifest", "dropped"))
    assert (len(kept), len(dropped), summary.new) == (3, 3, 0)
    assert min(row["snr_db"] for row in kept) > max(row["snr_db"] for row in dropped)
    run_corpus(CorpusJob(source, whole, MODEL))
    assert [row["id"] for row in clips.rows(whole / "manifest.jsonl")] == ids
    assert not (whole / "dropped.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keep": "loudness > 1"}, "no field 'loudness'"),
        ({"keep": "dnsmos_ovrl > 2.8"}, "--score"),
        ({"keep": "seconds >"}, "--keep takes"),
        ({"strength": 2.0}, "strength"),
        ({"format": "mp3"}, "flac or wav"),
        ({"model": "nobody"}, "nobody"),
        ({"model": "live"}, "belongs to another run, with model"),
        ({"format": "wav"}, "belongs to another run, with format"),
        ({"source": "elsewhere"}, "belongs to another run, with input"),
        ({"output": "source"}, "is the input"),
        ({"output": "full"}, "not a run of hamiltone corpus"),
    ],
)
def test_what_is_wrong_with_the_call_is_one_line(source, whole, tmp_path, change, words):
    before = clips.digests(whole)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    elsewhere = clips.folder(tmp_path / "elsewhere", 1, seconds=0.2)
    paths = {"elsewhere": elsewhere, "source": source, "full": tmp_path / "full"}
    given = {"source": source, "output": whole, "model": MODEL, **change}
    job = CorpusJob(
        **{name: paths.get(value, value) if isinstance(value, str) else value for name, value in given.items()}
    )
    with pytest.raises(InputError, match=words) as error:
        run_corpus(job)
    assert "\n" not in str(error.value)
    assert clips.digests(whole) == before


def test_an_input_without_a_single_clip_says_what_is_wrong_with_its_first_row(tmp_path):
    source = clips.manifest(tmp_path / "m.jsonl", [{"path": "a.wav"}, {"path": "b.wav"}])
    with pytest.raises(InputError, match=r"holds no clips; m\.jsonl:1: has no audio_filepath"):
        run_corpus(CorpusJob(source, tmp_path / "out", MODEL))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["seconds", "error"])
def test_fields_that_the_run_writes_itself_are_refused(tmp_path, name):
    clips.write_clip(tmp_path / "a.wav", 0, seconds=0.2)
    source = clips.manifest(tmp_path / "m.jsonl", [{"audio_filepath": "a.wav", name: 3}])
    with pytest.raises(InputError, match=f"'{name}'"):
        run_corpus(CorpusJob(source, tmp_path / "out", MODEL))


def test_every_row_has_an_id_its_own_or_the_one_by_which_the_run_knows_it(tmp_path):
    for name in "abcd":
        clips.write_clip(tmp_path / f"{name}.wav", 0, seconds=0.2)
    rows = [{"id": "", "audio_filepath": "a.wav"}, {"id": None, "audio_filepath": "b.wav"}]
    rows += [{"id": 7, "audio_filepath": "c.wav"}, {"audio_filepath": "d.wav"}, {"id": "", "audio_filepath": "e.wav"}]
    run_corpus(CorpusJob(clips.manifest(tmp_path / "m.jsonl", rows), tmp_path / "out", MODEL))
    assert [row["id"] for row in clips.rows(tmp_path / "out" / "manifest.jsonl")] == ["a.wav", "b.wav", 7, "d.wav"]
    assert [row["id"] for row in clips.rows(tmp_path / "out" / "errors.jsonl")] == ["e.wav"]


def test_a_round_grows_with_the_workers_that_share_it(source, tmp_path, monkeypatch):
    monkeypatch.setattr("hamiltone.corpus.run.ROUND", 3)
    monkeypatch.setattr("hamiltone.corpus.run.SHARE", 1)

    class Engine:
        def __init__(self, most):
            self.most, self.given = most, []

        def __call__(self, clips, job, batch):
            self.given.append(len(clips))
            yield [Result(clip.id, error="not done") for clip in clips]

    few, many = Engine(2), Engine(4)
    for engine in (few, many):
        run_corpus(CorpusJob(source, tmp_path / f"out{engine.most}", MODEL), engine)
    assert (few.given, many.given) == ([3, 3], [4, 2])


def test_scores_come_before_and_after_and_can_be_filtered_by(tmp_path):
    pytest.importorskip("speechmos", reason="needs the extra metrics")
    clip = clips.write_clip(tmp_path / "clip.wav", 0, seconds=2.4)  # which DNSMOS rates in one window
    rows = [{"audio_filepath": str(clip)}]
    job = CorpusJob(
        clips.manifest(tmp_path / "m.jsonl", rows), tmp_path / "out", MODEL, score=True, keep="dnsmos_ovrl > 0.5"
    )
    assert run_corpus(job).enhanced == 1
    (row,) = clips.rows(tmp_path / "out" / "manifest.jsonl")
    from hamiltone.metrics import dnsmos_ratings

    for name, path in (("_before", rows[0]["audio_filepath"]), ("", tmp_path / "out" / str(row["enhanced_filepath"]))):
        samples, rate = soundfile.read(path, dtype="float32")
        expected = dnsmos_ratings(samples, rate)
        found = [row[f"dnsmos_{part}{name}"] for part in expected._fields]
        assert found == pytest.approx(list(expected), abs=2e-3)
