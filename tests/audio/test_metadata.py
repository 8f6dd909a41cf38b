import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from hamiltone.audio.au_annotation import Annotation
from hamiltone.audio.chunks import Chunks
from hamiltone.audio.flac_blocks import Blocks
from hamiltone.audio.metadata import read_metadata
from tagged import copy_sound

RATE = 16_000
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE + 1, 1))).astype(np.float32)


def test_another_format_gets_the_tags(tmp_path: Path) -> None:
    with soundfile.SoundFile(tmp_path / "a.wav", "w", RATE, 1) as file:
        file.title = "a talk"
        file.write(SOUND)
    assert isinstance(read_metadata(tmp_path / "a.wav", "WAV")[0], Chunks)
    assert read_metadata(tmp_path / "a.wav", "FLAC") == (None, "")
    assert copy_sound(tmp_path / "a.wav", tmp_path / "b.flac") == ""
    with soundfile.SoundFile(tmp_path / "b.flac") as file:
        assert file.title == "a talk"


@given(st.data())
def test_no_damage_to_a_file_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    format = data.draw(st.sampled_from(["WAV", "RF64", "FLAC", "AIFF", "CAF", "W64", "AU", "OGG"]))
    sound = io.BytesIO()
    soundfile.write(sound, SOUND[:100], RATE, format=format)
    content = bytearray(sound.getvalue())
    for place in data.draw(st.lists(st.integers(0, min(len(content), 80) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    metadata, lost = read_metadata(path, format)
    assert isinstance(metadata, Annotation | Blocks | Chunks | None)
    assert "\n" not in lost
