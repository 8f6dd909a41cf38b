import numpy as np
import pytest

import clips
from hamiltone.corpus import EnhanceStage, enhance_cuts

lhotse = pytest.importorskip("lhotse", reason="needs lhotse")
pytestmark = pytest.mark.filterwarnings("ignore")  # lhotse's own


def test_cuts_are_enhanced_as_their_part_of_the_recording_and_keep_who_they_are(tmp_path):
    path = clips.write_clip(tmp_path / "one.wav", 0, seconds=1.0)
    recording = lhotse.Recording.from_file(path, recording_id="one")
    spoken = lhotse.SupervisionSegment("s", "one", start=0.25, duration=0.25, text="hello", speaker="anna")
    cut = lhotse.MonoCut("cut", 0.0, 1.0, 0, supervisions=[spoken], recording=recording, custom={"take": 3})
    part = cut.truncate(offset=0.25, duration=0.5, preserve_id=True)
    stage = EnhanceStage(tmp_path / "out", model="toy")
    (fresh,) = enhance_cuts([part], stage)
    assert (fresh.id, fresh.start, fresh.duration, fresh.custom) == ("cut", 0.0, 0.5, {"take": 3})
    assert [(one.text, one.speaker, one.start) for one in fresh.supervisions] == [("hello", "anna", 0.0)]

    from hamiltone import enhance

    expected = enhance(part.load_audio(), 16_000, model="toy")
    np.testing.assert_allclose(fresh.load_audio(), expected, atol=2e-4)
    assert not np.allclose(fresh.load_audio(), part.load_audio(), atol=1e-3)
