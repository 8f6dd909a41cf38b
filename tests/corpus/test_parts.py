import numpy as np
import pytest
import soundfile

import clips
from hamiltone.corpus import Clip
from hamiltone.corpus.parts import as_file, clip_seconds
from hamiltone.errors import InputError


@pytest.mark.parametrize("suffix", ["wav", "flac", "aiff", "ogg", "mp3"])
def test_a_stretch_of_seconds_holds_the_samples_between_them(tmp_path, suffix):
    """Where a format can be jumped into, and where it must be decoded from its beginning."""
    path = clips.write_clip(tmp_path / "one.wav", 1, seconds=2.0)
    samples, rate = soundfile.read(path)
    soundfile.write(tmp_path / f"one.{suffix}", samples, rate)
    decoded, _ = soundfile.read(tmp_path / f"one.{suffix}")
    with as_file(Clip("part", str(tmp_path / f"one.{suffix}"), offset=0.75, duration=0.5)) as part:
        found, found_rate = soundfile.read(part)
    assert (found_rate, len(found)) == (rate, 8000)
    np.testing.assert_allclose(found, decoded[12_000:20_000], atol=2**-15)
    assert not part.exists()


def test_peaks_of_a_lossy_file_beyond_full_scale_are_kept(tmp_path):
    tone = 0.99 * np.sign(np.sin(2 * np.pi * 440 * np.arange(32_000) / 16_000))
    soundfile.write(tmp_path / "one.ogg", tone, 16_000)
    decoded, _ = soundfile.read(tmp_path / "one.ogg")
    assert np.abs(decoded[8000:16_000]).max() > 1.01
    with as_file(Clip("part", str(tmp_path / "one.ogg"), offset=0.5, duration=0.5)) as part:
        np.testing.assert_allclose(soundfile.read(part)[0], decoded[8000:16_000], atol=1e-6)


@pytest.mark.parametrize(("offset", "duration"), [(3.0, 0.5), (1.5, 2.0), (3.0, None)])
def test_a_stretch_that_is_not_there_is_one_line(tmp_path, offset, duration):
    path = clips.write_clip(tmp_path / "one.wav", 1, seconds=2.0)
    with pytest.raises(InputError, match="is shorter than offset and duration say"):
        as_file(Clip("part", str(path), offset=offset, duration=duration)).__enter__()


def test_the_length_of_a_clip_is_known_before_it_is_read_but_for_members_only_roughly(tmp_path):
    path = str(clips.write_clip(tmp_path / "one.wav", 1, seconds=2.0))
    assert clip_seconds(Clip("a", path)) == 2.0
    assert clip_seconds(Clip("a", path, duration=9.0)) == 2.0  # without an offset it is for information only
    assert clip_seconds(Clip("a", path, offset=0.5, duration=1.0)) == 1.0
    assert clip_seconds(Clip("a", path, offset=0.5)) == 2.0
    assert clip_seconds(Clip("a", path, 512, 64_000, ".wav")) >= 2.0
    assert clip_seconds(Clip("a", str(tmp_path / "none.wav"))) == 0.0
