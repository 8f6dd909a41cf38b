import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.data.pairs import FOLDERS, is_test_folder, scan_voicebank, split_speakers
from hamiltone.errors import InputError

CLEAN, NOISY = FOLDERS["train"]


@pytest.fixture
def copy(corpus: Path, tmp_path: Path) -> Path:
    """A copy of the corpus, which a test may damage."""
    return Path(shutil.copytree(corpus, tmp_path / "copy"))


def write(path: Path, samples: int = 9600, rate: int = 16000, channels: int = 1) -> None:
    soundfile.write(path, np.zeros((samples, channels)), rate)


def test_pairs_are_found_with_speaker_and_length_in_wav_and_flac(corpus: Path) -> None:
    report = scan_voicebank(corpus)
    assert report.faults == ()
    assert report.summary == ""
    assert [pair.name for pair in report.pairs[:3]] == ["p226_000", "p226_004", "p287_001"]
    assert {pair.clean.suffix for pair in report.pairs} == {".wav", ".flac"}
    for pair in report.pairs:
        assert pair.speaker == pair.name[:4]
        assert pair.clean.stem == pair.noisy.stem == pair.name
        assert pair.frames == soundfile.info(pair.noisy).frames


def spoil_missing_noisy(root: Path) -> str:
    (root / NOISY / "p226_000.flac").unlink()
    return f"{CLEAN}/p226_000.flac: has no partner in {NOISY}"


def spoil_missing_clean(root: Path) -> str:
    (root / CLEAN / "p226_000.flac").unlink()
    return f"{NOISY}/p226_000.flac: has no partner in {CLEAN}"


def spoil_rate(root: Path) -> str:
    write(root / NOISY / "p226_000.flac", rate=48000)
    return f"{NOISY}/p226_000.flac: has 48000 Hz, expected 16000 Hz"


def spoil_length(root: Path) -> str:
    write(root / NOISY / "p226_000.flac", samples=9599)
    return f"{NOISY}/p226_000.flac: has 9,599 samples, its clean partner 9,600"


def spoil_channels(root: Path) -> str:
    write(root / CLEAN / "p226_000.flac", channels=2)
    return f"{CLEAN}/p226_000.flac: has 2 channels, expected one"


def spoil_content(root: Path) -> str:
    (root / CLEAN / "p226_000.flac").write_bytes(b"no audio at all")
    return f"{CLEAN}/p226_000.flac: is not a readable audio file"


def spoil_by_emptying(root: Path) -> str:
    (root / CLEAN / "p226_000.flac").write_bytes(b"")
    return f"{CLEAN}/p226_000.flac: is empty"


def spoil_by_cutting(root: Path) -> str:
    path = root / NOISY / "p226_004.wav"
    path.write_bytes(path.read_bytes()[:1000])
    return f"{NOISY}/p226_004.wav: is truncated; its header says 1.00 s"


def spoil_by_doubling(root: Path) -> str:
    write(root / CLEAN / "p226_000.wav")
    return f"{CLEAN}/p226_000.wav: exists twice, also as p226_000.flac"


SPOILS = [
    spoil_missing_noisy,
    spoil_missing_clean,
    spoil_rate,
    spoil_length,
    spoil_channels,
    spoil_content,
    spoil_by_emptying,
    spoil_by_cutting,
    spoil_by_doubling,
]


@pytest.mark.parametrize("spoil", SPOILS)
def test_every_fault_is_one_clear_line(copy: Path, spoil) -> None:
    line = spoil(copy)
    report = scan_voicebank(copy, skip=True)
    assert report.faults == (line,)
    with pytest.raises(InputError) as caught:
        scan_voicebank(copy)
    advice = "repair or remove these files (to train without them: data.skip_faults = true)"
    assert str(caught.value) == f"1 fault in 8 pairs: {line}; {advice}"


def test_skipping_keeps_the_sound_pairs_and_reports_all_faults(copy: Path) -> None:
    for name in ("p226_000", "p287_001", "p300_002", "p301_003"):
        (copy / NOISY / f"{name}.flac").unlink()
    report = scan_voicebank(copy, skip=True)
    assert len(report.pairs) == 4
    assert len(report.faults) == 4
    assert report.summary.startswith("4 faults in 8 pairs: ")
    assert report.summary.endswith("; and 1 more")
    assert "\n" not in report.summary


def test_a_root_without_the_folders_says_which_are_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"has no folder {CLEAN}; expected .*{NOISY}"):
        scan_voicebank(tmp_path)


def test_held_out_speakers_never_train(corpus: Path) -> None:
    pairs = scan_voicebank(corpus).pairs
    train, validation = split_speakers(pairs)
    assert {pair.speaker for pair in validation} == {"p226", "p287"}
    assert {pair.speaker for pair in train} == {"p300", "p301"}
    assert sorted(pair.name for pair in train + validation) == sorted(pair.name for pair in pairs)


def test_an_unknown_speaker_or_an_empty_side_is_refused(corpus: Path) -> None:
    pairs = scan_voicebank(corpus).pairs
    with pytest.raises(InputError, match="p999 cannot be held out: the speakers are p226 p287 p300 p301"):
        split_speakers(pairs, ["p999"])
    with pytest.raises(InputError, match="leaves no pairs"):
        split_speakers(pairs, ["p226", "p287", "p300", "p301"])


@pytest.mark.parametrize(
    "name",
    ["clean_testset_wav", "VB/noisy_testset_wav/deep", "DNS/test_set/noisy", "vb/test", "vb/test/noisy", "TestSet"],
)
def test_test_folders_are_known_by_name(name: str, tmp_path: Path) -> None:
    assert is_test_folder(tmp_path / name)


@pytest.mark.parametrize("name", ["clean_trainset_28spk_wav", "latest_settings", "contest_sets", "attestset", "."])
def test_other_folders_are_not(name: str, tmp_path: Path) -> None:
    assert not is_test_folder(tmp_path / name)


def test_a_link_to_a_folder_for_testing_is_one(tmp_path: Path) -> None:
    (tmp_path / "clean_testset_wav").mkdir()
    (tmp_path / "validation").symlink_to(tmp_path / "clean_testset_wav")
    assert is_test_folder(tmp_path / "validation")


def test_pairs_for_testing_neither_train_nor_validate(corpus: Path, tmp_path: Path) -> None:
    for source, target in zip(FOLDERS["train"], FOLDERS["test"], strict=True):
        shutil.copytree(corpus / source, tmp_path / target)
    with pytest.raises(InputError, match="testset_wav: is a test folder"):
        split_speakers(scan_voicebank(tmp_path, "test").pairs)


def test_renamed_test_speakers_are_recognised(copy: Path) -> None:
    for folder in (CLEAN, NOISY):
        (copy / folder / "p300_002.flac").rename(copy / folder / "p232_002.flac")
    with pytest.raises(InputError, match="p232 is a test speaker of VoiceBank"):
        split_speakers(scan_voicebank(copy).pairs)


def test_the_real_corpus_is_sound(voicebank_mini: Path) -> None:
    pairs = scan_voicebank(voicebank_mini).pairs
    assert len(pairs) == 60
    assert len({pair.speaker for pair in pairs}) == 10
    assert len(scan_voicebank(voicebank_mini, "test").pairs) == 24
