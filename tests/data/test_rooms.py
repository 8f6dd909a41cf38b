from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.data.rooms import LEAD, TAPS, RecordedRooms, align, decaying_room, early_part
from hamiltone.errors import InputError


def responses() -> list[np.ndarray]:
    return [decaying_room(np.random.default_rng(seed)) for seed in range(40)]


def test_decaying_rooms_start_with_the_direct_sound() -> None:
    for response in responses():
        assert not response[:LEAD].any()
        assert response[LEAD] > 0
        assert LEAD < len(response) <= TAPS


def test_decaying_rooms_decay() -> None:
    for response in responses():
        energy = np.square(response[LEAD + 200 :])
        half = len(energy) // 2
        assert energy[half:].sum() < 0.2 * energy[:half].sum()


def test_treble_decays_faster_than_bass() -> None:
    late = np.concatenate([response[LEAD + 1600 : LEAD + 2400] for response in responses() if len(response) > 5000])
    power = np.abs(np.fft.rfft(late.reshape(-1, 800))) ** 2
    assert power[:, 5:50].mean() > 4 * power[:, 300:].mean()


def test_early_energy_is_one() -> None:
    for response in responses():
        assert np.square(early_part(response)).sum() == pytest.approx(1, rel=1e-5)


def test_the_early_part_ends_50_ms_after_the_direct_sound() -> None:
    response = np.ones(4000, np.float32)
    early = early_part(response)
    assert (early[: LEAD + 640] == 1).all()
    assert not early[LEAD + 800 :].any()
    assert (np.diff(early) <= 0).all()
    np.testing.assert_array_equal(early_part(response[:100]), response[:100])


@pytest.mark.parametrize("delay", [0, 10, LEAD, 3000])
def test_alignment_finds_the_direct_sound(delay: int) -> None:
    response = np.zeros(20000, np.float32)
    response[delay] = -0.8
    response[delay + 500 :: 97] = 0.1
    aligned = align(response)
    assert np.abs(aligned).argmax() == LEAD
    assert len(aligned) == TAPS
    assert abs(aligned[-1]) < 1e-3


def test_a_silent_response_is_refused() -> None:
    with pytest.raises(InputError, match="must not be silent"):
        align(np.zeros(100, np.float32))


def test_recorded_rooms_come_aligned_from_nested_folders(tmp_path: Path) -> None:
    response = np.zeros((8000, 2))
    response[333] = [0.9, 0.1]
    (tmp_path / "hall" / "far").mkdir(parents=True)
    soundfile.write(tmp_path / "hall" / "far" / "one.wav", response, 16000)
    drawn = RecordedRooms(tmp_path)(np.random.default_rng(0))
    assert np.abs(drawn).argmax() == LEAD


def test_a_silent_recording_of_a_room_is_named(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "mute.wav", np.zeros(100), 16000)
    with pytest.raises(InputError, match=r"mute\.wav: cannot be used as a room"):
        RecordedRooms(tmp_path)(np.random.default_rng(0))
