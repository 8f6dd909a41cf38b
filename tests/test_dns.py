"""The chain of DNS-Challenge 3 on a small folder in its layout: train a few steps, enhance, judge, time."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from hamiltone.cli import app
from hamiltone.data.noise import synthetic_noise
from hamiltone.data.synthetic import speech

pytest.importorskip("lightning_fabric", reason="training needs hamiltone[train]")
RATE = 16_000
RECIPE = Path(__file__).parents[1] / "recipes" / "dns3.toml"
SMALLER = {
    "budget.epochs": 1,
    "budget.steps": 2,
    "batches.size": 2,
    "batches.workers": 0,
    "data.segment": 4000,
    "data.length": 4,
    "data.held_out": 0.5,
    "data.held_out_segment": 6000,
    "data.held_out_length": 1,
    "model.channels": 4,
    "model.layers": 1,
    "model.kernel_size": 3,
    "model.feed_forward": 4,
    "run.log_steps": 1,
}


@pytest.fixture
def challenge(tmp_path, monkeypatch) -> Path:
    """The folders clean, noise, impulse_responses and dev_testset, with a second of sound in each file."""
    monkeypatch.setattr("hamiltone.training.tune_cpu", lambda: None)  # it would outlive the test
    rng = np.random.default_rng(0)
    room = np.exp(-np.arange(4000) / 500) * rng.standard_normal(4000)
    room[0] = 5.0
    for number in range(8):
        voice, noise = speech(rng, RATE), synthetic_noise(rng, RATE)
        sounds = {
            f"clean/read_speech/book_{number:05}_chp_0001_reader_{number:05}_0_seg_1.wav": voice,
            f"noise/noise_{number}.wav": 0.1 * noise,
            f"impulse_responses/SLR28/room_{number}.wav": 0.1 * room,
            f"dev_testset/noisy_{number}.wav": voice + 0.02 * noise,
        }
        for name, sound in sounds.items():
            path = tmp_path / "DNS" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, np.clip(sound, -1, 1), RATE)
    return tmp_path / "DNS"


def run(*arguments: object):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.filterwarnings("ignore")
def test_the_chain_runs_on_a_folder_in_the_challenges_layout(challenge, tmp_path):
    pytest.importorskip("speechmos", reason="DNSMOS needs hamiltone[metrics]")
    root, folder = challenge.as_posix(), (tmp_path / "run").as_posix()
    smaller = [f"{key}={value}" for key, value in SMALLER.items()]
    run("train", RECIPE, f"data.root={root!r}", f"run.folder={folder!r}", "run.accelerator='cpu'", *smaller)
    model, test = tmp_path / "run" / "best.safetensors", challenge / "dev_testset"
    run("enhance", test, "-o", tmp_path / "enhanced", "--model", model)
    assert len(list((tmp_path / "enhanced").rglob("*.wav"))) == 8
    report = tmp_path / "dns" / "small.json"
    run(
        "evaluate",
        "--noisy",
        test,
        "--enhanced",
        tmp_path / "enhanced",
        "--seconds",
        10,
        "--workers",
        1,
        "--out",
        report,
    )
    summary = json.loads(report.read_text())["summary"]
    assert list(summary) == ["dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808"]
    assert all(one["low"] <= one["mean"] <= one["high"] and one["files"] == 8 for one in summary.values())


def test_the_real_time_factor_is_taken_over_a_folder(challenge):
    done = run("bench", "folder", challenge / "dev_testset", "--preset", "compact", "--path", "fused", "--json")
    rows = json.loads(done.stdout)
    assert [(row["attention"], row["files"], row["seconds"]) for row in rows] == [
        ("shared", 8, 8.0),
        ("hamilton", 8, 8.0),
    ]
    assert all(row["rtf"] > 0 for row in rows)
