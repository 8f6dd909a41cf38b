import json
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

import training_data
from hamiltone.data.signals import SAMPLE_RATE
from hamiltone.data.synthetic import speech

RNG = np.random.default_rng(0)


def test_noise_in_the_pauses_is_heard() -> None:
    clean = speech(RNG, 3 * SAMPLE_RATE)
    clean[SAMPLE_RATE : 2 * SAMPLE_RATE] = 0
    noise = RNG.standard_normal(len(clean)).astype(np.float32)
    level = float(np.sqrt(np.square(clean).mean()))
    assert training_data.has_silent_pauses(clean)
    assert training_data.has_silent_pauses(clean + 0.003 * level * noise)
    assert not training_data.has_silent_pauses(clean + 0.1 * level * noise)


def test_speech_and_noise_are_sorted_filtered_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="G.722 needs hamiltone[media]")
    clean = speech(RNG, 3 * SAMPLE_RATE)
    clean[SAMPLE_RATE : 2 * SAMPLE_RATE] = 0
    noise = (0.1 * RNG.standard_normal(70 * SAMPLE_RATE)).astype(np.float32)
    sources = tmp_path / "sources"
    for name, sound in {
        "gcompris/en/words/one.ogg": clean,
        "gcompris/en/words/hissing.ogg": clean + noise[: len(clean)],
        "freeswitch/en/us/allison/digits/1.wav": clean,
        "torcs-data/usr/sound/skid.wav": noise,
        "widelands-data/sound/wind.ogg": noise,
        "freedroidrpg-data/voice_samples/hello.ogg": clean,
        "esc/audio/rain.wav": noise,
        "esc/audio/not-free.wav": noise,
    }.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(sources / name, sound, SAMPLE_RATE)
    (sources / "esc" / "meta").mkdir()
    (sources / "esc" / "meta" / "esc50.csv").write_text("filename,esc10\nrain.wav,True\nnot-free.wav,False\n")
    monkeypatch.setattr(sys, "argv", ["training_data.py", str(sources), str(tmp_path / "out")])
    training_data.main()
    counted = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert counted["speech"]["gcompris"] == {"files": 1, "left_out": 1, "hours": pytest.approx(3 / 3600), "voices": 1}
    assert {kind: set(found) for kind, found in counted.items()} == {
        "speech": {"gcompris", "freeswitch"},
        "noise": {"widelands-data", "esc-10"},
        "held-out-noise": {"torcs-data"},
    }
    assert counted["noise"]["widelands-data"]["hours"] == pytest.approx(training_data.LONGEST / 3600)
    files = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.flac"))
    assert files == [
        "held-out-noise/torcs-data/torcs-data_00000.flac",
        "noise/esc-10/esc-10_00000.flac",
        "noise/widelands-data/widelands-data_00000.flac",
        "speech/freeswitch-en-us-allison/freeswitch-en-us-allison_00002.flac",
        "speech/gcompris-en/gcompris-en_00001.flac",
    ]
