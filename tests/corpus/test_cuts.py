import numpy as np
import pytest

import clips
from hamiltone.corpus import EnhanceStage, enhance_cuts
from hamiltone.errors import InputError

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

    assert [(one.id, one.recording_id) for one in part.supervisions] == [("s", "one")]  # those of the old cut
    lhotse.validate(fresh, read_data=True)

    from hamiltone import enhance

    expected = enhance(part.load_audio(), 16_000, model="toy")
    np.testing.assert_allclose(fresh.load_audio(), expected, atol=2e-4)
    assert not np.allclose(fresh.load_audio(), part.load_audio(), atol=1e-3)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return EnhanceStage(tmp_path_factory.mktemp("cuts") / "out", model="toy")


def make_cut(folder, name="cut", channels=1):
    path = clips.write_clip(folder / f"{name}.wav", 0, seconds=1.0, channels=channels)
    return lhotse.Recording.from_file(path, recording_id=f"r-{name}").to_cut().with_id(name)


def test_a_supervision_follows_its_channel_into_the_new_recording(stage, tmp_path):
    both = make_cut(tmp_path, channels=3)
    both.channel = [0, 2]
    both.supervisions = [lhotse.SupervisionSegment("s", "r-cut", 0.0, 1.0, channel=2)]
    right = lhotse.MonoCut("right", 0.0, 1.0, 2, recording=both.recording, supervisions=both.supervisions)
    of_both, of_right = enhance_cuts([both, right], stage)
    assert (of_both.channel, [one.channel for one in of_both.supervisions]) == ([0, 1], [1])
    assert (of_right.channel, [one.channel for one in of_right.supervisions]) == (0, [0])
    lhotse.validate(of_both, read_data=True)
    lhotse.validate(of_right, read_data=True)


def test_temporal_arrays_are_shifted_to_the_new_start(stage, tmp_path):
    from lhotse.features.io import MemoryRawWriter

    cut = make_cut(tmp_path)
    frames = np.arange(10, dtype=np.float32)
    cut.pitch = MemoryRawWriter().store_array("p", frames, frame_shift=0.1, temporal_dim=0, start=0)
    part = cut.truncate(offset=0.3, duration=0.4, preserve_id=True)
    (fresh,) = enhance_cuts([part], stage)
    np.testing.assert_array_equal(part.load_pitch(), frames[3:7])
    np.testing.assert_array_equal(fresh.load_pitch(), frames[3:7])


def test_a_custom_recording_that_would_be_misaligned_is_refused(stage, tmp_path):
    cut = make_cut(tmp_path)
    cut.target = cut.recording
    (fresh,) = enhance_cuts([cut], stage)
    np.testing.assert_array_equal(fresh.load_target(), cut.load_target())
    part = cut.truncate(offset=0.3, duration=0.4, preserve_id=True)
    for wrong in (part, cut.append(part).with_id("mix")):
        with pytest.raises(InputError, match="custom field 'target' would no longer be aligned"):
            list(enhance_cuts([wrong], stage))
    part.target_unaligned = True
    assert len(list(enhance_cuts([part], stage))) == 1


def test_two_cuts_of_one_id_are_refused_since_their_audio_would_be(stage, tmp_path):
    first, second = make_cut(tmp_path / "a"), make_cut(tmp_path / "b")
    with pytest.raises(InputError, match="cut cut: its id occurs twice"):
        list(enhance_cuts([first, second], stage, skip=lambda cut, error: None))


def test_a_cut_that_fails_ends_the_pipeline_unless_it_is_to_be_skipped(stage, tmp_path):
    good, bad, other = (make_cut(tmp_path, name) for name in ("good", "bad", "other"))
    (tmp_path / "bad.wav").write_bytes(b"RIFF no sound")
    with pytest.raises(InputError, match="cut bad: cannot load its audio"):
        list(enhance_cuts([bad], stage))
    reported = []
    found = enhance_cuts([good, bad, other], stage, skip=lambda cut, error: reported.append((cut.id, str(error))))
    assert [cut.id for cut in found] == ["good", "other"]
    assert [id for id, _ in reported] == ["bad"] and "cannot load" in reported[0][1]
