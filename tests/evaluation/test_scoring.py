import csv
import hashlib
import json
import math
import os
import sys
from importlib import import_module

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from hamiltone import metrics
from hamiltone.cli import app
from hamiltone.errors import InputError
from hamiltone.evaluation import (
    FileScores,
    Folder,
    ModelName,
    Report,
    Unprocessed,
    compare,
    evaluate,
    read_report,
    scoring,
    write_report,
)
from hamiltone.weights import bundled

RATE = 16_000
NAMES = ("sisdr", "ssnr")


@pytest.fixture
def folders(tmp_path):
    """Three pairs at known SNRs, and what a system that halves the noise would make of them."""
    rng = np.random.default_rng(0)
    for folder in ("clean", "noisy", "halved"):
        (tmp_path / folder).mkdir()
    for name, snr in (("a", 2.0), ("b", 7.0), ("c", 20.0)):
        clean = 0.1 * rng.standard_normal(RATE)
        noise = rng.standard_normal(RATE)
        noise *= np.linalg.norm(clean) / np.linalg.norm(noise) * 10 ** (-snr / 20)
        for folder, share in (("clean", 0.0), ("noisy", 1.0), ("halved", 0.5)):
            soundfile.write(tmp_path / folder / f"{name}.wav", clean + share * noise, RATE, subtype="FLOAT")
    return tmp_path


def _report(folders, system):
    return Report(str(system), NAMES, tuple(evaluate(folders / "noisy", folders / "clean", system, metrics=NAMES)))


def test_scores_are_those_of_the_metrics_called_directly(folders):
    report = _report(folders, Unprocessed())
    for file in report.files:
        noisy, clean = (soundfile.read(folders / kind / f"{file.name}.wav")[0] for kind in ("noisy", "clean"))
        assert file.scores["sisdr"] == pytest.approx(metrics.si_sdr(noisy, clean), abs=1e-3)
    assert [file.snr for file in report.files] == pytest.approx([2, 7, 20], abs=1e-3)
    assert list(report.by_snr()) == ["0 - 5 dB", "5 - 10 dB", ">= 15 dB"]


def test_processes_do_not_change_the_scores(folders):
    arguments = (folders / "noisy", folders / "clean", Folder(folders / "halved"))
    assert evaluate(*arguments, metrics=NAMES, workers=2) == evaluate(*arguments, metrics=NAMES)


class _Deadly(Unprocessed):
    """Ends the process that receives it."""

    def __reduce__(self):
        return os._exit, (1,)


def test_a_process_that_is_ended_is_one_line(folders):
    with pytest.raises(InputError, match=r"^a process that scored files was ended, .*; choose fewer workers$"):
        evaluate(folders / "noisy", folders / "clean", _Deadly(), metrics=NAMES, workers=2)


def test_the_output_is_never_aligned_with_the_reference(folders):
    (folders / "flipped").mkdir()
    for path in (folders / "halved").iterdir():
        soundfile.write(folders / "flipped" / path.name, -0.5 * soundfile.read(path)[0], RATE, subtype="FLOAT")
    right, flipped = (_report(folders, Folder(folders / name)) for name in ("halved", "flipped"))
    assert np.mean(flipped.values("ssnr")) < np.mean(right.values("ssnr")) - 3


def test_comparison_finds_the_six_decibels_of_halved_noise(folders):
    difference = compare(_report(folders, Folder(folders / "halved")), _report(folders, Unprocessed()))["sisdr"]
    assert difference.mean == pytest.approx(6.02, abs=0.1)
    assert difference.low <= difference.mean <= difference.high and difference.files == 3


def test_a_file_that_fails_is_nan_with_a_reason_and_the_others_go_on(folders):
    (folders / "halved" / "b.wav").write_text("no audio")
    report = _report(folders, Folder(folders / "halved"))
    assert [math.isnan(value) for value in report.values("sisdr")] == [False, True, False]
    assert report.summary()["sisdr"].files == 2
    (line,) = report.failures()
    assert line.startswith("b: sisdr, ssnr: ")


def test_a_pair_that_cannot_be_scored_is_listed_and_the_others_are_scored(folders):
    for folder in ("noisy", "clean"):
        soundfile.write(folders / folder / "d.wav", np.full((RATE, 2), 0.1), RATE)
    (folders / "noisy" / "b.wav").write_text("no audio")
    (folders / "noisy" / "lonely.wav").write_bytes((folders / "noisy" / "a.wav").read_bytes())
    for folder in ("noisy", "clean"):
        soundfile.write(folders / folder / "c.flac", np.full(RATE, 0.1), RATE)  # beside c.wav
    out = folders / "x.json"
    done = _evaluate(folders, "--unprocessed", "--metrics", "sisdr", "--out", str(out))
    assert done.exit_code == 0 and "data.skip_faults" not in done.output
    reasons = {file.name: file.reasons.get("sisdr", "") for file in read_report(out).files}
    assert reasons.keys() == {"a", "b", "c", "d", "lonely"} and reasons["a"] == ""
    assert reasons["b"].startswith("noisy/b.wav: is not a readable audio file")
    assert reasons["c"].startswith("clean/c.wav: exists twice, also as c.flac; noisy/c.wav: exists twice")
    assert reasons["d"] == "clean/d.wav: has 2 channels, expected one; noisy/d.wav: has 2 channels, expected one"
    assert reasons["lonely"] == "noisy/lonely.wav: has no partner in clean"
    assert all(f"hamiltone: {name}: sisdr: {reason}" in done.stderr for name, reason in reasons.items() if reason)


def test_without_a_clean_folder_too(folders, rated):
    (folders / "noisy" / "b.wav").write_text("no audio")
    files = evaluate(folders / "noisy", None, Unprocessed(), metrics=["dnsmos_ovrl"])
    assert [file.name for file in files] == ["a", "c", "b"]
    assert [math.isnan(file.scores["dnsmos_ovrl"]) for file in files] == [False, False, True]
    assert "is not a readable audio file" in files[2].reasons["dnsmos_ovrl"]
    for name in "ac":
        (folders / "noisy" / f"{name}.wav").write_text("no audio")
    done = CliRunner().invoke(app, ["evaluate", "--noisy", str(folders / "noisy"), "--unprocessed"])
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (2, "hamiltone: no file could be scored")


def test_a_silent_clip_does_not_stop_the_run(folders):
    soundfile.write(folders / "clean" / "b.wav", np.zeros(RATE), RATE, subtype="FLOAT")
    report = _report(folders, Unprocessed())
    assert math.isnan(report.values("sisdr")[1]) and "the target is silent" in report.failures()[0]


def test_a_report_survives_its_file(folders, tmp_path):
    files = (FileScores("a", math.nan, 1.0, {"sisdr": 1.5, "ssnr": math.nan}, {"ssnr": "why"}),)
    report = Report("x", NAMES, files, "5ea1")
    table = write_report(tmp_path / "x.json", report)
    again = read_report(tmp_path / "x.json")
    assert repr(again) == repr(report)
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert row["sisdr"] == "1.5" and row["reasons"] == "why"
    assert json.loads((tmp_path / "x.json").read_text())["summary"]["ssnr"] is None


@pytest.mark.parametrize("name", ["compact", "compact-shared", "live"])
def test_a_report_names_the_checkpoint_by_its_content_also_of_a_graph(folders, name):
    path = bundled()[name]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert ModelName(name).checkpoint == ModelName(str(path)).checkpoint == digest
    common = ["evaluate", "--noisy", str(folders / "noisy"), "--clean", str(folders / "clean"), "--metrics", "sisdr"]
    out = folders / "report.json"
    assert CliRunner().invoke(app, [*common, "--workers", "1", "--model", name, "-o", str(out)]).exit_code == 0
    assert json.loads(out.read_text())["checkpoint"] == digest == read_report(out).checkpoint
    assert Unprocessed().checkpoint == Folder(folders / "noisy").checkpoint == ""


def test_the_command_writes_reports_and_compares_them(folders):
    runner = CliRunner()
    common = ["evaluate", "--noisy", str(folders / "noisy"), "--clean", str(folders / "clean"), "--metrics", "sisdr"]
    ours, theirs = str(folders / "ours.json"), str(folders / "theirs.json")
    done = runner.invoke(app, [*common, "--workers", "1", "--enhanced", str(folders / "halved"), "--out", ours])
    assert done.exit_code == 0 and "sisdr" in done.stdout
    assert runner.invoke(app, [*common, "--workers", "1", "--unprocessed", "-o", theirs]).exit_code == 0
    done = runner.invoke(app, ["evaluate", "--compare", ours, theirs])
    assert done.exit_code == 0 and "+6.0" in done.stdout
    done = runner.invoke(app, ["evaluate", "--compare", ours, theirs, "--json", "-o", str(folders / "both.json")])
    assert json.loads(done.stdout)["sisdr"]["mean"] == pytest.approx(6.02, abs=0.01)
    assert json.loads((folders / "both.json").read_text()) == json.loads(done.stdout)


def test_json_prints_the_report_that_out_writes(folders):
    path = folders / "report.json"
    done = _evaluate(folders, "--unprocessed", "--metrics", "sisdr, ssnr,sisdr", "--json", "--out", str(path))
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(path.read_text())
    assert read_report(path).metrics == ("sisdr", "ssnr")


def _evaluate(folders, *arguments, noisy="noisy", clean="clean"):
    common = ["evaluate", "--noisy", str(folders / noisy), "--clean", str(folders / clean), "--workers", "1"]
    return CliRunner().invoke(app, [*common, *arguments])


def test_nothing_scored_is_no_success(folders):
    for path in (folders / "halved").iterdir():
        path.write_text("no audio")
    done = _evaluate(folders, "--enhanced", str(folders / "halved"), "--metrics", "sisdr")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == "hamiltone: no file could be scored"


def test_a_bad_model_is_refused_before_any_file_is_read(folders, monkeypatch):
    monkeypatch.setattr(scoring, "decode", lambda path: pytest.fail(f"{path} was read"))
    for name, text in [("nowhere", "there is no model"), (str(folders / "noisy" / "a.wav"), "not a readable")]:
        done = _evaluate(folders, "--model", name, "--metrics", "sisdr")
        assert isinstance(done.exception, InputError) and text in str(done.exception)


def test_a_missing_extra_is_named_at_once_and_what_goes_without_it(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "pesq", None)
    done = _evaluate(folders, "--unprocessed", "--metrics", "pesq,csig,sisdr,ssnr")
    assert str(done.exception) == (
        'pesq, csig: needs pesq: pip install "hamiltone[metrics]", or ask for sisdr,ssnr only'
    )
    assert _evaluate(folders, "--unprocessed", "--metrics", "sisdr,ssnr").exit_code == 0


def test_other_sample_rates_are_resampled_and_a_line_says_so(folders):
    for kind in ("clean", "noisy"):
        (folders / f"{kind}48").mkdir()
        for path in (folders / kind).iterdir():
            soundfile.write(folders / f"{kind}48" / path.name, soundfile.read(path)[0].repeat(3), 48_000, "FLOAT")
    arguments = ("--unprocessed", "--metrics", "sisdr", "--out", str(folders / "x.json"))
    done = _evaluate(folders, *arguments, noisy="noisy48", clean="clean48")
    assert done.exit_code == 0
    assert done.stderr == "hamiltone: 3 files of 48000 Hz were resampled to 16000 Hz for scoring\n"
    for found, wanted in zip(read_report(folders / "x.json").files, _report(folders, Unprocessed()).files, strict=True):
        assert (found.resampled, wanted.resampled) == (48_000, None)
        assert found.seconds == wanted.seconds
        assert found.scores["sisdr"] == pytest.approx(wanted.scores["sisdr"], abs=0.5)
    done = _evaluate(folders, "--enhanced", str(folders / "noisy48"), "--metrics", "sisdr")
    assert "3 files of 48000 Hz were resampled" in done.stderr
    done = _evaluate(folders, "--unprocessed", noisy="noisy", clean="clean48")
    assert "noisy/a.wav: has 16000 Hz, expected 48000 Hz" in str(done.exception)


def test_comparison_leaves_out_a_metric_without_scores(folders):
    reports = [
        Report("x", NAMES, tuple(FileScores(name, 0.0, 1.0, {"sisdr": 1.0, "ssnr": math.nan}) for name in "ab"))
    ] * 2
    assert list(compare(*reports)) == ["sisdr"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a --noisy folder"),
        (["--noisy", "{0}/noisy", "--metrics", "sisdr,dnsmos_sig"], "sisdr: needs --clean"),
        (["--noisy", "{0}/noisy", "--clean", "{0}/nowhere"], "nowhere"),
        (["--noisy", "{0}/noisy", "--clean", "{0}/clean/../noisy"], "noisy: expected a folder of clean files"),
        (["--noisy", "{0}/noisy", "--clean", "{0}/clean", "--metrics", "pesk"], "no metric called pesk"),
        (["--noisy", "{0}/noisy", "--clean", "{0}/clean", "--unprocessed", "--model", "x"], "mutually exclusive"),
        (["--noisy", "{0}/noisy", "--workers", "100000"], "--workers must lie between 1 and"),
        (["--noisy", "{0}/noisy", "--workers", "0"], "--workers must lie between 1 and"),
        (["--compare", "{0}/clean/a.wav", "{0}/b.json"], "not a report"),
    ],
)
def test_mistakes_get_one_line(folders, arguments, message):
    done = CliRunner().invoke(app, ["evaluate", *(argument.format(folders) for argument in arguments)])
    assert isinstance(done.exception, InputError) and message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_a_folder_of_results_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        Folder(tmp_path / "absent")


@pytest.fixture
def rated(monkeypatch):
    """DNSMOS replaced by the level of what it is given, and a list of the lengths."""
    heard = []

    def rate(estimate, sample_rate):
        heard.append(len(estimate))
        level = float(np.std(estimate))
        return metrics.DNSMOS(level, level, level, level)

    monkeypatch.setattr(metrics, "dnsmos_ratings", rate)
    return heard


def test_without_a_clean_folder_the_ratings_need_no_reference(folders, rated):
    files = evaluate(folders / "noisy", None, Folder(folders / "halved"), seconds=0.5)
    report = Report("x", metrics.WITHOUT_REFERENCE, tuple(files))
    assert set(rated) == {RATE // 2} and [file.seconds for file in files] == [0.5] * 3
    assert report.summary()["dnsmos_ovrl"].files == 3 and report.by_snr() == {}
    assert all(math.isnan(file.snr) for file in files)


def test_the_command_takes_a_folder_alone(folders, rated):
    done = CliRunner().invoke(
        app, ["evaluate", "--noisy", str(folders / "noisy"), "--unprocessed", "--workers", "1"], catch_exceptions=False
    )
    assert done.exit_code == 0 and "dnsmos_p808" in done.stdout and "pesq" not in done.stdout


def test_a_metric_with_a_reference_is_not_computed_without_one():
    with pytest.raises(InputError, match="sisdr: needs a clean reference"):
        metrics.compute(["sisdr"], np.ones(100), None, RATE)


def test_a_result_belongs_to_the_file_of_its_whole_name(folders):
    """A dot in a name begins no suffix."""
    for folder in ("noisy", "clean", "halved"):
        for name, new in (("a", "p232.001"), ("b", "p232.002"), ("c", "p232")):
            (folders / folder / f"{name}.wav").rename(folders / folder / f"{new}.wav")
    halved, noisy = _report(folders, Folder(folders / "halved")), _report(folders, Unprocessed())
    assert not halved.failures()
    assert np.subtract(halved.values("sisdr"), noisy.values("sisdr")) == pytest.approx([6, 6, 6], abs=0.3)


def test_files_of_one_name_in_different_folders_are_not_mixed_up(tmp_path, rated):
    for folder, factor in (("noisy", 1.0), ("results", 0.5)):
        for name, level in (("kitchen", 0.1), ("street", 0.2)):
            (tmp_path / folder / name).mkdir(parents=True)
            noise = factor * level * np.random.default_rng(0).standard_normal(RATE)
            soundfile.write(tmp_path / folder / name / "001.wav", noise, RATE)
    files = evaluate(tmp_path / "noisy", None, Folder(tmp_path / "results"))
    assert [file.name for file in files] == ["kitchen/001", "street/001"]
    assert [file.scores["dnsmos_ovrl"] for file in files] == pytest.approx([0.05, 0.1], rel=0.02)

    moved = (tmp_path / "results").rename(tmp_path / "moved")
    (moved / "street").rename(moved / "hall")
    files = evaluate(tmp_path / "noisy", None, Folder(moved))
    assert "has several files for street/001: hall/001.wav and kitchen/001.wav" in files[1].reasons["dnsmos_ovrl"]


def test_a_folder_alone_of_another_rate_is_resampled_and_a_line_says_so(tmp_path, rated):
    soundfile.write(tmp_path / "a.wav", np.full(24_000, 0.1), 48_000)
    (file,) = evaluate(tmp_path, None, Unprocessed())
    assert (file.resampled, file.seconds, rated) == (48_000, 0.5, [8000])


@pytest.mark.parametrize(
    ("out", "message"), [("x.csv", "ends in .json"), ("taken/x.json", "cannot write"), ("", "folder")]
)
def test_a_report_that_cannot_be_written_is_refused_before_any_file_is_scored(folders, out, message, monkeypatch):
    monkeypatch.setattr(scoring, "decode", lambda path: pytest.fail(f"{path} was read"))
    (folders / "taken").touch()
    done = _evaluate(folders, "--unprocessed", "--metrics", "sisdr", "--out", str(folders / out))
    assert isinstance(done.exception, InputError) and message in str(done.exception)


@pytest.mark.parametrize("content", ["speaker,age\np226,23\n", "file,snr,seconds\n", "\xff\n", ""])
def test_only_a_table_of_a_report_is_replaced_by_one(folders, content, monkeypatch):
    out, table = folders / "ours.json", folders / "ours.csv"
    assert _evaluate(folders, "--unprocessed", "--metrics", "sisdr", "--out", str(out)).exit_code == 0
    before = out.read_bytes()
    assert _evaluate(folders, "--unprocessed", "--metrics", "ssnr", "--out", str(out)).exit_code == 0
    assert "ssnr" in table.read_text() and out.read_bytes() != before
    before = out.read_bytes()
    table.write_text(content, "latin-1")
    monkeypatch.setattr(scoring, "decode", lambda path: pytest.fail(f"{path} was read"))
    done = _evaluate(folders, "--unprocessed", "--metrics", "sisdr", "--out", str(out))
    assert isinstance(done.exception, InputError) and "ours.csv exists" in str(done.exception)
    assert (table.read_text("latin-1"), out.read_bytes()) == (content, before)


def test_a_comparison_has_no_table_and_is_written_beside_any(folders):
    for name in ("x", "y"):
        write_report(folders / f"{name}.json", Report(name, NAMES[:1], (FileScores("a", 0.0, 1.0, {"sisdr": 1.0}),)))
    (folders / "both.csv").write_text("mine")
    arguments = [str(folders / f"{name}.json") for name in ("x", "y", "both")]
    done = CliRunner().invoke(app, ["evaluate", "--compare", *arguments[:2], "--out", arguments[2]])
    assert done.exit_code == 0 and (folders / "both.csv").read_text() == "mine"


def test_a_comparison_does_not_replace_a_report(folders):
    report = Report("x", ("sisdr",), (FileScores("a", 0.0, 1.0, {"sisdr": 1.0}),))
    write_report(folders / "x.json", report)
    path = str(folders / "x.json")
    done = CliRunner().invoke(app, ["evaluate", "--compare", path, path, "--out", path])
    assert isinstance(done.exception, InputError) and read_report(folders / "x.json") == report


def test_a_name_that_is_no_text_is_written_with_escapes(tmp_path):
    report = Report("x", ("sisdr",), (FileScores("b\udce9", 0.0, 1.0, {"sisdr": 1.0}),))
    table = write_report(tmp_path / "x.json", report)
    assert "b\\udce9,0.0" in table.read_text() and read_report(tmp_path / "x.json") == report


@pytest.mark.parametrize(("snr", "scores"), [('"x"', '{"sisdr": 1}'), ("1", "{}")])
def test_a_report_that_was_changed_is_one_line(tmp_path, snr, scores):
    file = f'{{"name": "a", "snr": {snr}, "seconds": 1, "scores": {scores}, "reasons": {{}}}}'
    (tmp_path / "x.json").write_text(f'{{"system": "x", "metrics": ["sisdr"], "files": [{file}]}}')
    with pytest.raises(InputError, match="not a report"):
        read_report(tmp_path / "x.json")


@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_seconds_that_are_no_number_are_one_line(folders, seconds):
    done = _evaluate(folders, "--unprocessed", "--metrics", "sisdr", "--seconds", seconds)
    assert isinstance(done.exception, InputError) and "number of seconds" in str(done.exception)


def test_the_help_names_every_metric() -> None:
    command = import_module("hamiltone.cli.evaluate")
    assert set(command._DEFAULT.split(",")) == set(scoring.DEFAULT_METRICS)
    assert {*command._DEFAULT.split(","), *command._MORE.split(",")} == set(metrics.METRICS)
