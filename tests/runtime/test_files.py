import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from enhancers import Backends
from hamiltone.errors import InputError
from hamiltone.runtime import enhance, enhance_file, enhance_paths, extras, files
from sounds import noise


@pytest.mark.parametrize(
    ("name", "subtype"),
    [
        ("a.wav", "PCM_U8"),
        ("a.wav", "PCM_16"),
        ("a.wav", "PCM_24"),
        ("a.wav", "PCM_32"),
        ("a.wav", "FLOAT"),
        ("a.wav", "DOUBLE"),
        ("a.wav", "ULAW"),
        ("a.flac", "PCM_24"),
    ],
)
def test_strength_zero_is_bit_exact(backends: Backends, tmp_path: Path, name: str, subtype: str) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    extremes = np.array([[-1.0, 1.0], [1.0, -1.0]], np.float32)
    soundfile.write(source, np.concatenate([noise(70_000, 2), extremes]), 44_100, subtype=subtype)
    enhance_file(source, target, model=backends.random_convolutions(), strength=0)
    dtype = "float64" if subtype in {"FLOAT", "DOUBLE"} else "int32"
    np.testing.assert_array_equal(soundfile.read(target, dtype=dtype)[0], soundfile.read(source, dtype=dtype)[0])
    assert soundfile.info(target).subtype == subtype


@pytest.mark.parametrize(
    ("name", "subtype"), [("a.wav", "PCM_16"), ("a.wav", "PCM_24"), ("a.flac", "PCM_16"), ("a.wav", "FLOAT")]
)
def test_file_gives_what_the_waveform_gives(backends: Backends, tmp_path: Path, name: str, subtype: str) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    soundfile.write(source, noise(5 * 44_100, 2), 44_100, subtype=subtype)
    enhance_file(source, target, model=backends.random_convolutions(), window_seconds=2)
    waveform = soundfile.read(source, dtype="float32")[0].T
    expected = enhance(waveform, 44_100, model=backends.random_convolutions(), window_seconds=2)
    half_step = {"PCM_16": 2**-16, "PCM_24": 2**-24, "FLOAT": 0}[subtype]
    np.testing.assert_allclose(soundfile.read(target)[0].T, expected, atol=half_step + 1e-7)
    found, wanted = soundfile.info(target), soundfile.info(source)
    for field in ("samplerate", "channels", "frames", "format", "subtype"):
        assert getattr(found, field) == getattr(wanted, field)


@pytest.mark.parametrize("name", ["a.ogg", "a.mp3"])
def test_lossy_formats_keep_format_rate_and_length(backends: Backends, tmp_path: Path, name: str) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    tones = 0.2 * np.sin(2 * np.pi * np.array([440, 3000]) * np.arange(44_100)[:, None] / 44_100)
    soundfile.write(source, tones, 44_100)
    enhance_file(source, target, model=backends.fixed_mask(0.5))
    found, wanted = soundfile.info(target), soundfile.info(source)
    for field in ("samplerate", "channels", "frames", "format", "subtype"):
        assert getattr(found, field) == getattr(wanted, field)
    ratio = soundfile.read(target)[0].std() / soundfile.read(source)[0].std()
    assert ratio == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("name", ["b.wav", "b.mp3", "b.ogg"])
def test_a_result_that_is_not_finite_leaves_no_file(backends: Backends, tmp_path: Path, name: str) -> None:
    soundfile.write(tmp_path / "a.wav", noise(16_000), 16_000, subtype="FLOAT")
    with pytest.raises(InputError, match=r"a\.wav: the model's result holds NaN or infinite samples"):
        enhance_file(tmp_path / "a.wav", tmp_path / name, model=backends.fixed_mask(float("nan")))
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_level_is_kept_and_loud_peaks_are_clipped_not_wrapped(backends: Backends, tmp_path: Path) -> None:
    source, target = tmp_path / "a.wav", tmp_path / "b.wav"
    soundfile.write(source, np.array([0.9, -0.9] * 8000), 16_000)
    enhance_file(source, target, model=backends.fixed_mask(2.0))
    np.testing.assert_array_equal(soundfile.read(target, dtype="int16")[0], [32767, -32768] * 8000)


def test_progress_runs_over_the_seconds_of_all_files(backends: Backends, tmp_path: Path) -> None:
    for name, seconds in [("a.wav", 3), ("b.wav", 1)]:
        soundfile.write(tmp_path / name, noise(seconds * 16_000), 16_000)
    (tmp_path / "broken.wav").write_text("no audio")
    calls: list[tuple[float, float]] = []
    reports = list(
        enhance_paths(
            [tmp_path],
            tmp_path / "out",
            model=backends.fixed_mask(1.0),
            window_seconds=1,
            progress=lambda done, total: calls.append((done, total)),
        )
    )
    assert [report.error is None for report in reports] == [True, True, False]
    assert [total for _, total in calls] == [4.0] * len(calls)
    done = [done for done, _ in calls]
    assert (done[0], done[-1]) == (0, 4)
    assert done == sorted(done)
    assert any(0 < seconds < 3 for seconds in done)


MEMORY = """
import resource, sys
import numpy as np, soundfile, torch
from enhancers import Backends
from hamiltone.runtime import enhance_file

model = Backends(sys.argv[2]).fixed_mask(0.5)

def peak_after(minutes):
    minute = (0.1 * np.random.default_rng(0).standard_normal(60 * 16_000)).astype(np.float32)
    with soundfile.SoundFile(f"{sys.argv[1]}/a.wav", "w", 16_000, 1) as file:
        for _ in range(minutes):
            file.write(minute)
    enhance_file(f"{sys.argv[1]}/a.wav", f"{sys.argv[1]}/b.wav", model=model, overwrite=True)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

torch.set_num_threads(1)
one = peak_after(1)
print(peak_after(10) - one)
"""


def test_memory_does_not_grow_with_the_file(backends: Backends, tmp_path: Path) -> None:
    """Ten minutes take less than 60 MB more than one; as float32 samples they are 38 MB, and several copies of them."""
    command = [sys.executable, "-c", MEMORY, str(tmp_path), backends.kind]
    child = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    assert float(child.stdout) < 60


def test_a_preview_never_replaces_a_source_or_a_result(backends: Backends, tmp_path: Path) -> None:
    model, (first, second) = backends.random_convolutions(), (tmp_path / "a.preview.wav", tmp_path / "a.flac")
    for path in (first, second):
        soundfile.write(path, noise(20_000, 1), 16_000)
    before = first.read_bytes()
    with pytest.raises(InputError, match="is an input or a result"):
        enhance_file(first, tmp_path / "a.wav", model=model, preview=1, overwrite=True)
    assert first.read_bytes() == before

    out = tmp_path / "out"
    reports = list(enhance_paths([first, second], out, model=model, preview=1, overwrite=True))
    assert [report.error is None for report in reports] == [True, False]
    assert "out/a.preview.wav: is an input or a result" in str(reports[1].error)
    assert soundfile.info(out / "a.preview.wav").frames == 20_000


@pytest.mark.parametrize("fault", [FileNotFoundError(2, "No such file or directory"), MemoryError()])
@pytest.mark.parametrize("place", ["probe", "examine", "open_writer"])
def test_a_fault_of_one_file_does_not_stop_the_others(
    backends: Backends, tmp_path: Path, place: str, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.wav", "b.wav"):
        soundfile.write(tmp_path / name, noise(2000, 1), 16_000)
    whole = getattr(files, place)

    def failing(first: Any, *rest: Any) -> Any:
        if Path(first).name == "a.wav":
            raise fault
        return whole(first, *rest)

    monkeypatch.setattr(files, place, failing)
    first, second = enhance_paths([tmp_path], tmp_path / "out", model=backends.fixed_mask(1.0))
    reason = "not enough memory for it" if isinstance(fault, MemoryError) else "cannot read: No such file or directory"
    assert (first.error or "").endswith(reason) == (place != "probe")
    assert (second.error, soundfile.info(tmp_path / "out/b.wav").frames) == (None, 2000)


@pytest.mark.parametrize("changes", [{"strength": 0}, {}, {"keep": ((9.0, 10.0),)}])
def test_a_source_that_shrinks_meanwhile_has_no_result(
    backends: Backends, tmp_path: Path, changes: dict[str, Any]
) -> None:
    source = tmp_path / "a.wav"
    soundfile.write(source, noise(160_000, 1), 16_000)

    def shrink(seconds: float) -> None:
        os.truncate(source, 200_000)

    model = backends.fixed_mask(1.0)
    with pytest.raises(InputError, match=r"a\.wav: became shorter while it was being read"):
        enhance_file(source, tmp_path / "b.wav", model=model, window_seconds=1, progress=shrink, **changes)
    assert list(tmp_path.iterdir()) == [source]


def test_a_result_without_its_preview_is_reported_with_the_reason(
    backends: Backends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise InputError("a.preview.wav: cannot write: No space left on device")

    monkeypatch.setattr(extras, "write_preview", failing)
    soundfile.write(tmp_path / "a.wav", noise(2000, 1), 16_000)
    arguments: dict[str, Any] = {"model": backends.fixed_mask(1.0), "preview": 1}
    (report,) = enhance_paths([tmp_path / "a.wav"], tmp_path / "b.wav", **arguments)
    assert report.error == "a.preview.wav: cannot write: No space left on device"
    assert (report.output, report.preview) == (str(tmp_path / "b.wav"), None)
    assert soundfile.info(tmp_path / "b.wav").frames == 2000
    with pytest.raises(InputError, match="No space left"):
        enhance_file(tmp_path / "a.wav", tmp_path / "c.wav", **arguments)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_result_replaces_what_appears_meanwhile_only_with_overwrite(
    backends: Backends, tmp_path: Path, overwrite: bool
) -> None:
    source, target = tmp_path / "a.wav", tmp_path / "b.wav"
    soundfile.write(source, noise(2000, 1), 16_000)

    def appear(seconds: float) -> None:
        target.write_bytes(b"of another")

    model = backends.fixed_mask(1.0)
    if overwrite:
        enhance_file(source, target, model=model, overwrite=True, progress=appear)
        assert soundfile.info(target).frames == 2000
        return
    with pytest.raises(InputError, match="has appeared in the meantime"):
        enhance_file(source, target, model=model, progress=appear)
    assert target.read_bytes() == b"of another"


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_a_private_file_stays_private(backends: Backends, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, noise(2000, 1), 16_000)
    path.chmod(0o600)
    enhance_file(path, path, model=backends.random_convolutions(), overwrite=True)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder with two names that no link connects, as far as anyone can see: it is mounted twice."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.symlink_to(first)
    monkeypatch.setattr(os.path, "realpath", os.path.abspath)
    return first, second


def test_a_damaged_recording_is_not_replaced_under_another_name(
    backends: Backends, two_names: tuple[Path, Path]
) -> None:
    first, second = (folder / "a.wav" for folder in two_names)
    soundfile.write(first, np.full(16_000, 0.1), 16_000)
    first.write_bytes(first.read_bytes()[:20_000])
    with pytest.raises(InputError, match=r"would replace its source"):
        enhance_file(first, second, model=backends.fixed_mask(0.5))
    with pytest.raises(InputError, match=r"a\.wav: is not overwritten, since it is damaged"):
        enhance_file(first, second, model=backends.fixed_mask(0.5), overwrite=True)
    assert first.stat().st_size == 20_000


def test_two_results_never_meet_under_names_of_one_folder(
    backends: Backends, two_names: tuple[Path, Path], tmp_path: Path
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    for name, folder in zip(("one", "two"), two_names, strict=True):
        (tmp_path / "both" / name).mkdir(parents=True)
        soundfile.write(tmp_path / "both" / name / "a.wav", np.full(16_000, 0.1), 16_000)
        (results / name).symlink_to(folder)
    reports = list(enhance_paths([tmp_path / "both"], results, model=backends.fixed_mask(0.5), overwrite=True))
    assert [bool(report.error) for report in reports] == [False, True]
    assert "would both be written to" in str(reports[1].error)


def test_a_preview_never_replaces_its_source_under_another_name(
    backends: Backends, two_names: tuple[Path, Path]
) -> None:
    source, target = two_names[0] / "a.preview.wav", two_names[1] / "a.wav"
    soundfile.write(source, np.full(16_000, 0.1), 16_000)
    before = source.read_bytes()
    with pytest.raises(InputError, match="is an input or a result"):
        enhance_file(source, target, model=backends.fixed_mask(0.5), preview=1.0, overwrite=True)
    assert source.read_bytes() == before
