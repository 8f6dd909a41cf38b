import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.data.audio_store import open_store
from hamiltone.data.files import decode
from hamiltone.data.signals import active_level
from hamiltone.errors import InputError
from hamiltone.leftovers import create

RNG = np.random.default_rng(0)


def write(path: Path, seconds: float = 0.2, *, rate: int = 16000, channels: int = 1) -> Path:
    samples = RNG.integers(-20000, 20000, (int(seconds * rate), channels), dtype=np.int16)
    soundfile.write(path, samples, rate)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{name}.wav", seconds) for name, seconds in (("a", 0.1), ("b", 0.3), ("c", 0.2))]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_sixteen_bit_samples_are_kept_exactly(files: list[Path], cache: Path) -> None:
    store = open_store(files, cache)
    for row, path in enumerate(files):
        samples = soundfile.read(path, dtype="int16")[0]
        assert store.row(path) == row
        assert store.frames(row) == len(samples)
        np.testing.assert_array_equal(store.read(row, 0, len(samples)) * 32768, samples)
        np.testing.assert_array_equal(store.read(row, 100, 50) * 32768, samples[100:150])
        assert store.level(row) == active_level(decode(path))


def test_a_slice_never_reaches_into_the_next_file(files: list[Path], cache: Path) -> None:
    assert len(open_store(files, cache).read(0, 1500, 1000)) == 100


def test_other_rates_and_channels_become_16_khz_mono(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "x.wav", 0.5, rate=48000, channels=2)
    store = open_store([path], cache)
    assert store.frames(0) == 8000
    np.testing.assert_allclose(store.read(0, 0, 8000), decode(path), atol=1 / 32768)


def test_samples_beyond_full_scale_do_not_clip(tmp_path: Path, cache: Path) -> None:
    signal = 3 * RNG.uniform(-1, 1, 1000)
    soundfile.write(tmp_path / "loud.wav", signal, 16000, subtype="FLOAT")
    np.testing.assert_allclose(open_store([tmp_path / "loud.wav"], cache).read(0, 0, 1000), signal, atol=1e-4)


def test_a_store_is_built_once(files: list[Path], cache: Path) -> None:
    told: list[tuple[int, int]] = []
    for _ in range(2):
        open_store(files, cache, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("change", ["content", "time", "list", "rate"])
def test_any_change_builds_it_anew(files: list[Path], cache: Path, change: str) -> None:
    open_store(files, cache)
    rate = 16000
    if change == "content":
        write(files[1], 0.25)
    elif change == "time":
        os.utime(files[1], (1, 1))
    elif change == "list":
        files = files[:2]
    else:
        rate = 8000
    told: list[int] = []
    store = open_store(files, cache, sample_rate=rate, progress=lambda done, _: told.append(done))
    assert told
    if change == "content":
        np.testing.assert_array_equal(store.read(1, 0, 9999) * 32768, soundfile.read(files[1], dtype="int16")[0])


def test_files_of_the_same_name_size_and_time_are_told_apart(tmp_path: Path, cache: Path) -> None:
    stores = []
    for folder in ("clean", "noisy"):
        (tmp_path / folder).mkdir()
        os.utime(write(tmp_path / folder / "a.wav"), (1, 1))
        stores.append(open_store([tmp_path / folder / "a.wav"], cache))
    assert (stores[0].read(0, 0, 99) != stores[1].read(0, 0, 99)).any()


@pytest.mark.parametrize("stop_after", [1, 3])
def test_an_interrupted_build_leaves_nothing(files: list[Path], cache: Path, stop_after: int) -> None:
    def stop(done: int, _: int) -> None:
        if done == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_store(files, cache, progress=stop)
    assert list(cache.iterdir()) == []


def test_all_files_that_cannot_be_decoded_are_named_in_one_line_and_nothing_is_kept(
    files: list[Path], cache: Path
) -> None:
    files[0].write_bytes(b"no audio")
    files[2].write_bytes(files[2].read_bytes()[:1000])
    with pytest.raises(InputError, match=r"^2 faults in 3 files: .*a\.wav: is not a .*; .*c\.wav: is truncated .*$"):
        open_store(files, cache)
    assert list(cache.iterdir()) == []


def test_broken_files_may_be_skipped_but_not_unawares(files: list[Path], cache: Path) -> None:
    files[1].write_bytes(b"no audio")
    store = open_store(files, cache, skip=True)
    assert [path.name for path in store.paths] == ["a.wav", "c.wav"]
    assert len(store.faults) == 1
    np.testing.assert_array_equal(store.read(1, 0, 9999) * 32768, soundfile.read(files[2], dtype="int16")[0])
    with pytest.raises(InputError, match="1 fault in 3 files"):
        open_store(files, cache)


@pytest.mark.parametrize("suffix", [".i16", ".json"])
def test_a_damaged_cache_is_built_anew(files: list[Path], cache: Path, suffix: str) -> None:
    open_store(files, cache)
    (damaged,) = cache.glob(f"*{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:100])
    np.testing.assert_array_equal(
        open_store(files, cache).read(2, 0, 9999) * 32768, soundfile.read(files[2], dtype="int16")[0]
    )


def test_what_a_killed_build_left_is_removed_and_what_another_builds_is_not(files: list[Path], cache: Path) -> None:
    cache.mkdir()
    abandoned, another = cache / ".x.i16.0000.part", cache / ".y.i16.0000.part"
    abandoned.touch()
    with create(another):
        open_store(files, cache)
        assert not abandoned.exists()
        assert another.exists()


def test_a_pickled_store_carries_no_samples(files: list[Path], cache: Path) -> None:
    store = open_store(files, cache)
    pickled = pickle.dumps(store)
    assert len(pickled) < 1000
    np.testing.assert_array_equal(pickle.loads(pickled).read(1, 0, 100), store.read(1, 0, 100))  # noqa: S301


def test_a_missing_file_is_named(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.wav: cannot read: No such file"):
        open_store([tmp_path / "absent.wav"], cache)
