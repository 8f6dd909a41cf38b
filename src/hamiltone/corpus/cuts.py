"""Enhancement of lhotse's cuts."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from hamiltone.audio.formats import Encoding
from hamiltone.audio.sound_file import SoundFileWriter
from hamiltone.corpus.inputs import Clip
from hamiltone.corpus.parts import SCRATCH
from hamiltone.corpus.stage import EnhanceStage
from hamiltone.errors import InputError
from hamiltone.leftovers import scratch_folder


def enhance_cuts(
    cuts: Iterable[Any], stage: EnhanceStage, *, skip: Callable[[Any, InputError], None] | None = None
) -> Iterator[Any]:
    """Enhance the audio of each cut, into the folder of `stage`; yields cuts of the new recordings.

    Identity, supervisions and custom fields are kept; a cut starts at the beginning of its new recording, and a mix
    becomes one channel. Temporal arrays among the custom fields are shifted to the new start. Custom recordings cannot
    be, nor can either in a mix: such a cut is an error. Precomputed features are dropped.

    A cut that cannot be enhanced raises an `InputError`; with `skip`, that is called with the cut and the error, and
    the others go on. A repeated id is always an error, since the audio is named after it.
    """
    try:
        import lhotse  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise InputError("cuts need lhotse: pip install lhotse") from None
    seen: set[str] = set()
    for cut in cuts:
        if cut.id in seen:
            raise InputError(f"cut {cut.id}: its id occurs twice; give each cut an id of its own")
        seen.add(cut.id)
        try:
            fresh = _enhance(cut, stage)
        except InputError as error:
            if skip is None:
                raise
            skip(cut, error)
        else:
            yield fresh


def _enhance(cut: Any, stage: EnhanceStage) -> Any:
    from lhotse import Recording
    from lhotse.utils import fastcopy  # type: ignore[import-untyped]

    custom = _moved(cut)
    with scratch_folder(SCRATCH) as folder:
        source = folder / "cut.wav"
        try:
            samples = np.atleast_2d(cut.load_audio())  # (channels, L)
        except Exception as error:  # its storage may be anything
            raise InputError(f"cut {cut.id}: cannot load its audio: {' '.join(str(error).split())}") from error
        encoding, (channels, length) = Encoding("WAV", "FLOAT"), samples.shape
        with SoundFileWriter(
            source, encoding, sample_rate=cut.sampling_rate, channels=channels, frames=length
        ) as writer:
            writer.write(samples.T)
        result = stage.enhance(Clip(cut.id, str(source)))
    if result.error or not result.enhanced_filepath:
        raise InputError(f"cut {cut.id}: {result.error}")
    recording = Recording.from_file(stage.output / result.enhanced_filepath, recording_id=cut.id)
    fresh = recording.to_cut()
    fresh.id, fresh.custom = cut.id, custom
    fresh.supervisions = [
        fastcopy(spoken, recording_id=cut.id, channel=_channel(spoken.channel, cut, fresh))
        for spoken in cut.supervisions
    ]
    return fresh


def _moved(cut: Any) -> dict[str, Any] | None:
    """The custom fields of a cut, for one that starts at zero."""
    from lhotse import Recording
    from lhotse.array import TemporalArray  # type: ignore[import-untyped]
    from lhotse.cut import MixedCut  # type: ignore[import-untyped]
    from lhotse.utils import fastcopy

    custom = dict(getattr(cut, "custom", None) or {})
    mixed = isinstance(cut, MixedCut)
    for name, value in custom.items():
        if isinstance(value, TemporalArray) and not mixed:
            custom[name] = fastcopy(value, start=value.start - cut.start)
        elif isinstance(value, TemporalArray) or (
            isinstance(value, Recording) and (mixed or cut.start) and not custom.get(f"{name}_unaligned")
        ):
            raise InputError(
                f"cut {cut.id}: its custom field {name!r} would no longer be aligned with the audio; remove it with "
                f"drop_custom, or set {name}_unaligned if it is a recording that is not aligned"
            )
    return custom or None


def _channel(channel: int | list[int], cut: Any, fresh: Any) -> Any:
    """The channel of a supervision in the new recording, which holds those of the cut from 0 on."""
    there = getattr(cut, "channel", None)  # a mix has none
    if isinstance(fresh.channel, int) or not isinstance(there, list):
        return fresh.channel
    return there.index(channel) if isinstance(channel, int) else [there.index(one) for one in channel]
