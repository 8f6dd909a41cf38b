from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.data.files import FileRecordings, audio_files, check_header, decode
from hamiltone.data.signals import active_level
from hamiltone.errors import InputError


def tone(rate: int, seconds: float = 0.5) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * 440 * np.arange(int(rate * seconds)) / rate)


def test_files_are_found_however_deep_and_in_order(tmp_path: Path) -> None:
    for name in ("b/two.wav", "a/deep/one.flac", "c.WAV", ".hidden.wav", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in audio_files(tmp_path)] == ["one.flac", "two.wav", "c.WAV"]


def test_a_folder_without_audio_says_so_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no audio files"):
        audio_files(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        audio_files(tmp_path / "absent")


def test_decoding_resamples_and_averages_channels(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.stack([tone(48000), 0 * tone(48000)], 1), 48000)
    signal = decode(tmp_path / "a.wav")
    assert signal.dtype == np.float32
    np.testing.assert_allclose(signal[500:-500], tone(16000)[500:-500] / 2, atol=1e-3)
    np.testing.assert_allclose(
        decode(tmp_path / "a.wav", first_channel=True)[500:-500], tone(16000)[500:-500], atol=1e-3
    )


def test_a_wav_cut_short_is_seen_in_its_header(tmp_path: Path) -> None:
    path = tmp_path / "cut.wav"
    soundfile.write(path, tone(16000), 16000, subtype="PCM_16")
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(InputError, match=r"cut\.wav: is truncated; its header says 0\.50 s"):
        check_header(path)


def test_a_damaged_flac_is_seen_when_decoded(tmp_path: Path) -> None:
    path = tmp_path / "cut.flac"
    soundfile.write(path, np.random.default_rng(0).uniform(-1, 1, 16000), 16000)
    path.write_bytes(path.read_bytes()[:-8000])
    with pytest.raises(InputError, match=r"cut\.flac: is truncated or damaged; \d\.\d\d s are missing"):
        decode(path)


def test_samples_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "nan.wav", np.array([0.0, np.nan]), 16000, subtype="FLOAT")
    with pytest.raises(InputError, match="NaN or infinite"):
        decode(tmp_path / "nan.wav")


def test_file_recordings_read_what_decode_gives(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(16000), 16000)
    recordings = FileRecordings(audio_files(tmp_path))
    whole = decode(tmp_path / "a.wav")
    assert len(recordings) == 1
    assert recordings.frames(0) == 8000
    assert recordings.level(0) == active_level(whole)
    np.testing.assert_array_equal(recordings.read(0, 100, 50), whole[100:150])


def test_file_recordings_name_a_broken_file_or_skip_it(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(16000), 16000)
    (tmp_path / "b.wav").write_bytes(b"no audio")
    with pytest.raises(InputError, match=r"^1 fault in 2 files: .*b\.wav: is not a readable audio file$"):
        FileRecordings(audio_files(tmp_path))
    assert len(FileRecordings(audio_files(tmp_path), skip=True)) == 1
