from pathlib import Path

import numpy as np
import pytest
import soundfile

from enhancers import Backends
from hamiltone.errors import InputError
from hamiltone.runtime import enhance_file
from hamiltone.runtime.passages import parse_passages

RATE = 16_000


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_a_passage_is_kept_to_the_last_bit_across_the_seams_of_windows(
    tmp_path: Path, backends: Backends, subtype: str
) -> None:
    sound = np.random.default_rng(0).uniform(-0.99, 0.99, 13 * RATE)
    soundfile.write(tmp_path / "a.wav", sound, RATE, subtype)
    enhance_file(tmp_path / "a.wav", tmp_path / "b.wav", model=backends.fixed_mask(0.5), keep=((0.5, 12.0),))
    kind = "float64" if subtype in ("FLOAT", "DOUBLE") else "int32"
    before, after = (soundfile.read(tmp_path / name, dtype=kind)[0] for name in ("a.wav", "b.wav"))
    inside = slice(RATE // 2, 12 * RATE)
    np.testing.assert_array_equal(after[inside], before[inside])
    np.testing.assert_allclose(after[-RATE // 2 :], before[-RATE // 2 :] / 2, rtol=1e-3, atol=0.01 * before.max())


def test_a_passage_beyond_the_end_is_said(tmp_path: Path, backends: Backends) -> None:
    soundfile.write(tmp_path / "a.wav", np.full(RATE, 0.1), RATE)
    model, keep = backends.fixed_mask(0.5), ((0.0, 0.5), (90.0, float("inf")))
    report = enhance_file(tmp_path / "a.wav", tmp_path / "b.wav", model=model, keep=keep)
    assert report.note == "the passage to keep from 90 s on lies beyond its end at 1.0 s"


@pytest.mark.parametrize("text", [",", " ", "12", "a-b", "-5--3", "1-2;3-4"])
def test_what_names_no_passage_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected passages such as"):
        parse_passages(text)
