"""The TypeScript of the page, without a browser: its unit tests, and its sums beside those of Python."""

import json

import numpy as np
import pytest
import soundfile
import soxr
import torch

import hamiltone
from browser import WEB, compile_typescript, needs, node
from hamiltone.audio.stft import STFT
from hamiltone.data.synthetic import speech
from hamiltone.runtime.backend import Spectrum

pytestmark = needs(browser=False)
RATES = (8_000, 16_000, 44_100, 48_000)


class Known:
    """A model that both sides know: its gain falls with the frequency, and follows the loudness of the frame."""

    sample_rate, n_fft, hop = 16_000, 512, 256

    def step(self, spectrum: Spectrum) -> Spectrum:
        power = np.square(np.abs(spectrum)).sum()
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


@pytest.fixture(scope="module")
def results(compiled, tmp_path_factory):
    """What TypeScript makes of every task, by name."""
    folder = tmp_path_factory.mktemp("typescript")
    tasks = [{"name": "stft", "do": "stft", "rate": 16_000}]
    for rate in RATES:
        tasks.append({"name": f"stream-{rate}", "do": "stream", "rate": rate})
        if rate != 16_000:
            tasks.append({"name": f"down-{rate}", "do": "resample", "rate": rate, "target": 16_000})
            tasks.append({"name": f"up-{rate}", "do": "resample", "rate": 16_000, "target": rate})
    for suffix, rate in (("flac", 22_050), ("ogg", 44_100), ("mp3", 16_000), ("opus", 48_000)):
        kind = {"opus": ("OGG", "OPUS")}.get(suffix, (suffix.upper(), None))
        soundfile.write(folder / f"sound.{suffix}", voice(rate), rate, format=kind[0], subtype=kind[1])
        tasks.append({"name": f"rate-{suffix}", "do": "rate", "file": f"sound.{suffix}", "rate": rate})
    for task in tasks:
        voice(task["rate"]).tofile(folder / f"{task['name']}.in.f32")
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


@pytest.mark.parametrize("rate", [rate for rate in RATES if rate != 16_000])
def test_resampling_is_that_of_soxr(results, rate):
    for name, source, target in ((f"down-{rate}", rate, 16_000), (f"up-{rate}", 16_000, rate)):
        signal = voice(source)
        length = results[name].size
        expected = soxr.resample(np.pad(signal, (0, source)), source, target, "VHQ")[:length]
        assert length == -(-signal.size * target // source)
        noise = np.square(results[name] - expected).sum() / np.square(expected).sum()
        assert 10 * np.log10(noise) < -65, name  # its filter for 44.1 kHz is a little other than for whole ratios


@pytest.mark.parametrize("rate", RATES)
def test_a_stream_is_that_of_python(results, rate):
    stream = hamiltone.Stream(rate, Known())
    latency, *found = results[f"stream-{rate}"]
    assert latency == stream.latency
    np.testing.assert_allclose(found, stream.process(voice(rate)), atol=1e-5)


@pytest.mark.parametrize(("suffix", "rate"), [("flac", 22_050), ("ogg", 44_100), ("mp3", 16_000), ("opus", 48_000)])
def test_the_rate_of_a_compressed_file_is_found(results, suffix, rate):
    assert results[f"rate-{suffix}"] == [rate]
