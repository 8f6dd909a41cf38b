from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.errors import InputError
from tagged import copy_sound

RATE = 16_000
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE + 1, 1))).astype(np.float32)


def test_the_annotation_of_an_au_is_kept(tmp_path: Path) -> None:
    path, text = tmp_path / "a.au", b"recorded in the kitchen\0"
    soundfile.write(path, SOUND, RATE, "PCM_16", format="AU")
    content = path.read_bytes()
    path.write_bytes(content[:4] + (24 + len(text)).to_bytes(4, "big") + content[8:24] + text + content[24:])
    before = soundfile.read(path)[0]
    for _ in range(2):
        assert copy_sound(path, path) == ""
        assert path.read_bytes()[24 : 24 + len(text)] == text
        np.testing.assert_array_equal(soundfile.read(path)[0], before)
    path.write_bytes(path.read_bytes()[:4] + (2**22).to_bytes(4, "big") + content[8:24] + b"x" * 2**22 + content[24:])
    with pytest.raises(InputError, match="is not overwritten: its annotation is too long"):
        copy_sound(path, path)
