"""Enhancement of lhotse's cuts."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hamiltone.audio.formats import Encoding
from hamiltone.audio.sound_file import SoundFileWriter
from hamiltone.corpus.inputs import Clip
from hamiltone.corpus.parts import SCRATCH
from hamiltone.corpus.stage import EnhanceStage
from hamiltone.errors import InputError
from hamiltone.leftovers import scratch_folder


def enhance_cuts(cuts: Iterable[Any], stage: EnhanceStage) -> Iterator[Any]:
    """Enhance the audio of each cut, into the folder of `stage`; yields cuts of the new recordings.

    Identity, supervisions and custom fields are kept; a cut starts at the beginning of its new recording, and a mix
    becomes one channel. Precomputed features are dropped. A cut that cannot be enhanced raises an `InputError`.
    """
    try:
        import lhotse  # type: ignore[import-untyped]
    except ImportError:
        raise InputError("cuts need lhotse: pip install lhotse") from None
    for cut in cuts:
        with scratch_folder(SCRATCH) as folder:
            source = folder / "cut.wav"
            samples = np.atleast_2d(cut.load_audio())  # (channels, L)
            encoding, (channels, length) = Encoding("WAV", "FLOAT"), samples.shape
            with SoundFileWriter(
                source, encoding, sample_rate=cut.sampling_rate, channels=channels, frames=length
            ) as writer:
                writer.write(samples.T)
            result = stage.enhance(Clip(cut.id, str(source)))
        if result.error or not result.enhanced_filepath:
            raise InputError(f"cut {cut.id}: {result.error}")
        recording = lhotse.Recording.from_file(stage.output / result.enhanced_filepath, recording_id=cut.id)
        fresh = recording.to_cut()
        fresh.id, fresh.supervisions, fresh.custom = cut.id, cut.supervisions, getattr(cut, "custom", None)
        yield fresh
