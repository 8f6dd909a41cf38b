"""The TypeScript of the page, without a browser: its unit tests, and its sums beside those of Python."""

import json

import numpy as np
import pytest
import soundfile
import soxr
import torch

import hamiltone
from browser import WEB, compile_typescript, needs, node
from hamiltone.audio.spectra import stft
from hamiltone.audio.stft import STFT
from hamiltone.data.synthetic import speech
from hamiltone.runtime.backend import Spectrum
from hamiltone.runtime.bands import fill_empty
from hamiltone.runtime.enhancement import WINDOW_SECONDS
from hamiltone.runtime.windows import affordable_seconds, plan_windows

pytestmark = needs(browser=False)
SHARES = (0.5, 0.6890625, 1.0)  # of the model's bins: those that sounds of 8, 11.025 and 16 kHz fill
PLANS = [
    (round(seconds * rate), channels, rate)
    for seconds in (0.01, 9.6, 9.7, 18, 100.3)
    for rate in (8_000, 11_025, 16_000, 22_050, 44_100, 44_101, 48_000, 96_000)
    for channels in (1, 2, 32, 90, 256)  # of very many channels windows are short
]
RATES = (8_000, 16_000, 44_100, 48_000)


class Known:
    """A model that both sides know: its gain falls with the frequency, and follows the loudness of the frame."""

    sample_rate, n_fft, hop = 16_000, 512, 256

    def gain(self, spectrum: Spectrum) -> Spectrum:
        return self.step(spectrum)

    def step(self, spectrum: Spectrum) -> Spectrum:
        power = np.square(np.abs(spectrum)).sum(-1, keepdims=True)
        share = power / (power + 1000)
        return (share * (1 - np.arange(257) / 400 + 0.1j)).astype(np.complex64)

    def reset(self) -> None:
        pass

    def fresh(self) -> "Known":
        return Known()


@pytest.fixture(scope="module")
def compiled() -> None:
    compile_typescript("tsconfig.tests.json")


def voice(rate: int, seconds: float = 1.5) -> np.ndarray:
    rng = np.random.default_rng(rate)
    signal = speech(rng, round(seconds * 16_000)) + 0.01 * rng.standard_normal(round(seconds * 16_000))
    return soxr.resample(signal, 16_000, rate).astype(np.float32)


def spectra() -> np.ndarray:
    """Frames of a sound, from loud to silent."""
    frames = stft(voice(16_000)[None], 512, 256)[0]
    return frames * np.geomspace(1, 1e-12, len(frames), dtype=np.float32)[:, None]


@pytest.fixture(scope="module")
def results(compiled, tmp_path_factory):
    """What TypeScript makes of every task, by name."""
    folder = tmp_path_factory.mktemp("typescript")
    tasks = [{"name": "stft", "do": "stft", "rate": 16_000}]
    tasks.append({"name": "plan", "do": "plan", "rate": 16_000, "plans": PLANS})
    tasks += [{"name": f"fill-{seen}", "do": "fill", "rate": 16_000, "seen": seen} for seen in SHARES]
    for rate in RATES:
        tasks.append({"name": f"stream-{rate}", "do": "stream", "rate": rate})
        tasks.append({"name": f"enhance-{rate}", "do": "enhance", "rate": rate, "seconds": 18})
        if rate != 16_000:
            tasks.append({"name": f"down-{rate}", "do": "resample", "rate": rate, "target": 16_000})
            tasks.append({"name": f"up-{rate}", "do": "resample", "rate": 16_000, "target": rate})
    for suffix, rate in (("flac", 22_050), ("ogg", 44_100), ("mp3", 16_000), ("opus", 48_000)):
        kind = {"opus": ("OGG", "OPUS")}.get(suffix, (suffix.upper(), None))
        soundfile.write(folder / f"sound.{suffix}", voice(rate), rate, format=kind[0], subtype=kind[1])
        tasks.append({"name": f"rate-{suffix}", "do": "rate", "file": f"sound.{suffix}", "rate": rate})
    for task in tasks:
        signal = spectra() if task["do"] == "fill" else voice(task["rate"], task.get("seconds", 1.5))
        signal.tofile(folder / f"{task['name']}.in.f32")
    (folder / "tasks.json").write_text(json.dumps(tasks))
    node("tests/compare.mjs", folder)
    return {task["name"]: np.fromfile(folder / f"{task['name']}.out.f32", np.float32) for task in tasks}


def test_the_types_are_right():
    compile_typescript("tsconfig.json")


def test_the_units_pass(compiled):
    output = node("--test", *sorted((WEB / "tests").glob("*.test.mjs")))
    assert "# fail 0" in output and "# pass 0" not in output


def test_the_transform_is_that_of_python(results):
    expected = STFT(512, 256)(torch.from_numpy(voice(16_000))[None])[0]
    found = results["stft"].reshape(*expected.shape, 2)
    np.testing.assert_allclose(found, torch.view_as_real(expected).numpy(), atol=2e-5)


@pytest.mark.parametrize("seen", SHARES)
def test_empty_bins_are_filled_as_in_python(results, seen):
    before = spectra()
    expected = fill_empty(before, seen=seen)
    found = results[f"fill-{seen}"].view(np.complex64).reshape(expected.shape)
    level = np.sqrt(np.square(np.abs(before)).mean(-1, keepdims=True)) + 1e-30
    assert (found != before).any() == (seen < 1)
    np.testing.assert_allclose(found / level, expected / level, atol=1e-6)


@pytest.mark.parametrize("rate", [rate for rate in RATES if rate != 16_000])
def test_resampling_is_that_of_soxr(results, rate):
    for name, source, target in ((f"down-{rate}", rate, 16_000), (f"up-{rate}", 16_000, rate)):
        signal = voice(source)
        length = results[name].size
        expected = soxr.resample(np.pad(signal, (0, source)), source, target, "VHQ")[:length]
        assert length == -(-signal.size * target // source)
        noise = np.square(results[name] - expected).sum() / np.square(expected).sum()
        assert 10 * np.log10(noise) < -65, name  # its filter for 44.1 kHz differs slightly from that for whole ratios


@pytest.mark.parametrize("rate", RATES)
def test_a_stream_is_that_of_python(results, rate):
    stream = hamiltone.Stream(rate, Known())
    latency, *found = results[f"stream-{rate}"]
    assert latency == stream.latency
    np.testing.assert_allclose(found, stream.process(voice(rate)), atol=1e-5)


def test_windows_are_those_of_python(results):
    expected = [
        plan_windows(
            frames,
            sample_rate=rate,
            model_rate=16_000,
            hop=256,
            seconds=affordable_seconds(WINDOW_SECONDS, channels=channels, sample_rate=rate),
        )
        for frames, channels, rate in PLANS
    ]
    assert any(0 < plan.overlap < int(0.4 * rate) for plan, (_, _, rate) in zip(expected, PLANS, strict=True))
    found = results["plan"].reshape(-1, 3)
    np.testing.assert_array_equal(found, [(plan.stride, plan.overlap, plan.count) for plan in expected])


@pytest.mark.parametrize("rate", RATES)
def test_a_recording_of_several_windows_is_that_of_python(results, rate):
    expected = hamiltone.enhance(voice(rate, 18), rate, model=Known())
    np.testing.assert_allclose(results[f"enhance-{rate}"], expected, atol=1e-5)


@pytest.mark.parametrize(("suffix", "rate"), [("flac", 22_050), ("ogg", 44_100), ("mp3", 16_000), ("opus", 48_000)])
def test_the_rate_of_a_compressed_file_is_found(results, suffix, rate):
    assert results[f"rate-{suffix}"] == [rate]
