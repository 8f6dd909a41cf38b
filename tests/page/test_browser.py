"""The page in Chromium: served by the command, used as people do, its results beside those of the command line."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

import hamiltone
from browser import Chromium, needs
from hamiltone.data.synthetic import speech
from hamiltone.page.files import WEIGHTS
from hamiltone.runtime import enhance_file

pytestmark = needs(browser=True)
NOISY = Path(__file__).parents[2] / "examples" / "noisy.wav"
LIMIT_MB = 500  # for ten minutes at 16 kHz, which are 37 MB before and as much after


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The page, served by the command."""
    command = [sys.executable, "-m", "hamiltone", "page", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child.stdout.readline().split(" at ")[1].split()[0]
        child.terminate()
        assert child.wait(60) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Recordings of all kinds."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copy(NOISY, folder / "noisy.wav")  # long enough for several windows
    signal, rate = soundfile.read(NOISY)
    soundfile.write(folder / "microphone.wav", soxr.resample(signal, rate, 48_000), 48_000)
    voice = soxr.resample(signal[: 3 * rate], rate, 44_100)
    hiss = 0.003 * np.random.default_rng(0).standard_normal((voice.size, 2))
    soundfile.write(folder / "stereo.wav", voice[:, None] * [1.0, 0.6] + hiss, 44_100, subtype="PCM_24")
    soundfile.write(folder / "narrow.wav", soxr.resample(signal, rate, 8_000), 8_000, subtype="PCM_24")
    soundfile.write(folder / "noisy.flac", soxr.resample(signal[: 2 * rate], rate, 22_050), 22_050)
    soundfile.write(folder / "minute.wav", np.tile(signal, 6)[: 60 * rate], rate)
    (folder / "broken.wav").write_bytes(NOISY.read_bytes()[:30])
    (folder / "noise.mp3").write_bytes(np.random.default_rng(0).bytes(5000))
    (folder / "empty.wav").write_bytes(b"")
    soundfile.write(folder / "nan.wav", np.full(1000, np.nan), 16_000, subtype="FLOAT")
    return folder


@pytest.fixture(scope="module")
def page(address, folder) -> Iterator[Chromium]:
    chromium = Chromium(address, folder)
    yield chromium
    chromium.close()


def snr(found: Path, expected: Path) -> float:
    """Decibels from the expected recording down to what differs from it; format and length are equal."""
    a, b = soundfile.info(found), soundfile.info(expected)
    assert (a.samplerate, a.channels, a.frames, a.subtype) == (b.samplerate, b.channels, b.frames, b.subtype)
    x, y = soundfile.read(found)[0], soundfile.read(expected)[0]
    return 10 * np.log10(np.square(y).sum() / max(np.square(x - y).sum(), 1e-20))


def test_the_page_loads_under_its_policy(page):
    seen = page.run("load")
    assert seen["title"].startswith("hamiltone") and seen["status"] == "Ready."


def test_a_dropped_file_is_cleaned_as_by_the_command_without_a_network(page, folder):
    seen = page.run("drop")
    assert seen["name"] == "noisy.enhanced.wav" and seen["about"] == "0:12 · 16 kHz · mono"
    enhance_file(folder / "noisy.wav", folder / "noisy.python.wav")
    assert snr(folder / "noisy.page.wav", folder / "noisy.python.wav") > 60


def test_rate_channels_bits_and_strength_are_those_of_the_command(page, folder):
    seen = page.run("choose")
    assert seen["about"] == "0:03 · 44.1 kHz · stereo"
    enhance_file(folder / "stereo.wav", folder / "stereo.python.wav", strength=0.5)
    assert snr(folder / "stereo.page.wav", folder / "stereo.python.wav") > 60


def test_a_recording_of_8_khz_is_cleaned_as_by_the_command(page, folder):
    assert page.run("narrow")["about"] == "0:12 · 8 kHz · mono"
    enhance_file(folder / "narrow.wav", folder / "narrow.python.wav")
    assert snr(folder / "narrow.page.wav", folder / "narrow.python.wav") > 60


def test_a_compressed_file_keeps_its_rate(page, folder):
    assert page.run("compressed")["about"] == "0:02 · 22.05 kHz · mono"
    enhance_file(folder / "noisy.flac", folder / "flac.python.wav")
    assert snr(folder / "flac.page.wav", folder / "flac.python.wav") > 60


def test_the_switch_keeps_the_position_and_the_picture_seeks(page):
    seen = page.run("play")
    assert seen["side"] == "before" and seen["before"] > seen["after"] > 0.3
    assert seen["before"] - seen["after"] < 5  # it went on, not back to the beginning
    assert 0.74 < seen["sought"] < 0.9
    assert seen["heard"] > 0.01


def test_a_double_click_plays_the_recording_once(page):
    seen = page.run("twice")
    assert (seen["playing"], seen["left"]) == (2, 0)  # before and after


def test_broken_files_are_one_clear_sentence_and_the_page_goes_on(page):
    problems = page.run("broken")["problems"]
    assert problems == {
        "broken.wav": "broken.wav: This WAV file does not say what its samples are: it is damaged.",
        "noise.mp3": "noise.mp3: This file cannot be read: "
        "it is damaged, or not a recording that this browser can play.",
        "empty.wav": "empty.wav: This file is empty.",
        "nan.wav": "nan.wav: The recording contains samples that are not numbers.",
    }


def test_a_file_that_comes_before_the_models_waits_for_them(page):
    seen = page.run("early")
    assert seen["status"] == "Loading the models for noisy.wav …" and seen["name"] == "noisy.wav"


def test_a_model_or_code_that_is_cut_short_is_one_clear_sentence(page):
    compact, code, live = page.run("damaged")["problems"]
    assert compact == "The page could not be loaded. models/compact.onnx is damaged, or not a model."
    assert re.fullmatch(r"The page could not be loaded\. onnxruntime-[\d.]+wasm\.gz is damaged or cut short\.", code)
    assert live == "models/live.onnx is damaged, or not a model."


def test_another_file_takes_the_place_of_one_that_is_being_cleaned(page, folder):
    assert page.run("change")["name"] == "noisy.wav"
    enhance_file(folder / "noisy.wav", folder / "second.python.wav")
    assert snr(folder / "second.page.wav", folder / "second.python.wav") > 60


def test_of_two_files_dropped_at_once_the_last_comes_out_with_its_own_sound(page, folder):
    seen = page.run("together")
    assert seen["name"] == "noisy.wav" and seen["about"] == "0:12 · 16 kHz · mono"
    enhance_file(folder / "noisy.wav", folder / "together.python.wav")
    assert snr(folder / "together.page.wav", folder / "together.python.wav") > 60


@pytest.mark.parametrize("rate", [44_100, 48_000])
def test_live_sound_is_that_of_the_stream_in_python(page, folder, rate):
    """Chunk by chunk between the audio thread and the worker, which no load of the machine changes."""
    seen = page.run(f"live{rate}")
    assert seen["rate"] == rate and not seen["panel"]
    assert re.fullmatch(r"\d+ ms late, \d+ gaps?", seen["status"])
    heard, cleaned = (np.fromfile(folder / f"{name}{rate}.f32", np.float32) for name in ("heard", "cleaned"))
    stream = hamiltone.Stream(rate, WEIGHTS / "live.onnx")
    assert cleaned.size > 2.9 * rate and np.abs(heard).max() > 1e-3
    np.testing.assert_allclose(cleaned, stream.process(heard), atol=1e-4)


def test_the_microphone_is_recorded_and_cleaned(page, folder):
    seen = page.run("record")
    assert re.fullmatch(r"0:0[3-9] · (44\.1|48) kHz · mono", seen["about"])
    assert seen["refusal"] == "noisy.wav: Stop the recording first." and not seen["meter"]
    signal, _ = soundfile.read(folder / "record.page.wav")
    assert np.abs(signal).max() > 0.01


def test_a_microphone_recording_that_fills_the_page_ends_and_is_kept(page, folder):
    seen = page.run("full")
    assert seen["found"] and seen["recording"] == "false"
    assert soundfile.info(folder / "full.page.wav").frames == 96_000
    assert seen["problem"] == "The recording ended after 0:02: the page cannot hold more."


def test_a_file_that_is_too_long_is_not_called_damaged(page, folder):
    with soundfile.SoundFile(folder / "hour.flac", "w", 48_000, 1) as hour:
        for _ in range(60):
            hour.write(np.zeros(60 * 48_000, np.int16))
    problems = page.run("tooLong")["problems"]
    assert problems["hour.flac"].startswith("hour.flac: This recording is too long for a page.")
    assert "damaged" in problems["noisy.flac"]


def test_no_microphone_is_one_clear_sentence(page):
    seen = page.run("refused")
    assert seen["problem"] == "There is no microphone." and not seen["on"]


def test_a_worker_that_is_missing_is_one_clear_sentence(page):
    seen = page.run("missing")
    assert seen["live"] == "A worker of the page did not start." and not seen["on"]
    assert seen["recordings"] == "The page could not be loaded. A worker of the page did not start."


def test_a_microphone_that_vanishes_is_one_clear_sentence(page):
    seen = page.run("vanish")
    assert seen["problem"].startswith("The microphone was disconnected") and not seen["on"]


def test_an_audio_device_that_is_lost_ends_live_sound_and_recordings_with_one_clear_sentence(page):
    seen = page.run("silenced")
    assert seen["live"].startswith("The loudspeaker or headphones stopped") and not seen["on"]
    assert seen["recording"] == seen["live"] and not seen["again"]


@pytest.mark.parametrize("minutes", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_minutes_are_cleaned_in_bounded_memory_by_a_page_that_answers(page, minutes, folder):
    rng = np.random.default_rng(0)
    minute = speech(rng, 60 * 16_000) + 0.02 * rng.standard_normal(60 * 16_000)
    soundfile.write(folder / "long.wav", np.tile(minute, minutes), 16_000)
    seen = page.run("long")
    print(seen)
    assert soundfile.info(folder / "long.page.wav").frames == minutes * 60 * 16_000
    assert seen["grown"] < LIMIT_MB
    assert seen["unresponsive"] < 1000


def test_the_page_can_be_used_by_keyboard_and_every_control_has_a_name(page):
    seen = page.run("keyboard")
    assert seen["order"] == ["choose", "record", "play", "seek", "after", "strength", "download", "live", "A"]
    assert seen["unnamed"] == []
    assert seen["sought"] == pytest.approx(1.2, abs=0.02)  # a tenth of the recording at a time
