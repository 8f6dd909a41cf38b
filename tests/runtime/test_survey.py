import numpy as np
import pytest

from enhancers import Backends
from hamiltone.errors import InputError
from hamiltone.runtime import enhance
from hamiltone.runtime.survey import survey_recording
from sounds import noise


def test_image_of_a_stereo_pair_is_kept(backends: Backends) -> None:
    voice = noise(2 * 48_000)
    output = enhance(np.stack([0.8 * voice, 0.3 * voice]), 48_000, model=backends.random_convolutions())
    np.testing.assert_allclose(output[0] * 0.3, output[1] * 0.8, atol=1e-6)
    mono = enhance(voice, 48_000, model=backends.random_convolutions())
    np.testing.assert_allclose(output[0], 0.8 * mono, atol=1e-5)


@pytest.mark.parametrize("kind", ["opposite", "one silent", "unrelated"])
def test_channels_that_do_not_belong_together_are_enhanced_alone(backends: Backends, kind: str) -> None:
    left = noise(16_000)
    right = {"opposite": -left, "one silent": 0 * left, "unrelated": noise(16_000, seed=1)}[kind]
    output = enhance(np.stack([left, right]), 16_000, model=backends.random_convolutions())
    for channel, signal in zip(output, (left, right), strict=True):
        np.testing.assert_allclose(channel, enhance(signal, 16_000, model=backends.random_convolutions()), atol=1e-6)


@pytest.mark.parametrize(("rate", "channels", "most"), [(767_999, 256, 21), (96_000, 175, 174), (48_000, 256, 256)])
def test_more_samples_per_second_than_windows_afford_are_refused_before_they_are_read(
    rate: int, channels: int, most: int
) -> None:
    frames = iter([noise(100, channels), np.zeros((0, channels))])
    arguments = {"name": "a.wav", "sample_rate": rate, "channels": channels, "model_rate": 16_000}
    if channels <= most:
        assert len(survey_recording(lambda count: next(frames), **arguments).groups) == channels
        return
    with pytest.raises(InputError, match=f"a.wav: expected at most {most} channels at {rate} Hz, got {channels}"):
        survey_recording(lambda count: pytest.fail("it was read"), **arguments)


def test_pair_is_decided_once_per_recording() -> None:
    def groups(right: np.ndarray) -> list[tuple[int, ...]]:
        frames = np.stack([left, right], axis=1)
        survey = survey_recording(
            lambda count: frames[:count], name="", sample_rate=16_000, channels=2, model_rate=16_000
        )
        return [group.channels for group in survey.groups]

    left, other = noise(16_000), noise(16_000, seed=1)
    assert groups(left + other) == [(0, 1)]  # a voice under noise as loud that differs between the channels
    assert groups(other) == [(0,), (1,)]


def test_eight_channels_are_enhanced_each_by_itself(backends: Backends) -> None:
    signal = noise(8, 4000) * np.arange(1, 9, dtype=np.float32)[:, None]
    output = enhance(signal, 16_000, model=backends.random_convolutions())
    for channel in range(8):
        np.testing.assert_allclose(
            output[channel], enhance(signal[channel], 16_000, model=backends.random_convolutions()), atol=1e-5
        )
