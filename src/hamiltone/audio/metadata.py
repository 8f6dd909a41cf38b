"""What a file holds besides its samples, as far as it can be copied byte for byte into the file that replaces it.

libsndfile keeps a handful of tags; a recording that is replaced in place must not silently lose the rest.
"""

from pathlib import Path

from hamiltone.audio.au_annotation import Annotation, read_annotation
from hamiltone.audio.chunks import AIFF, CAF, RIFF, W64, Chunks, read_chunks
from hamiltone.audio.completeness import ogg_streams
from hamiltone.audio.flac_blocks import Blocks, read_blocks
from hamiltone.audio.formats import few
from hamiltone.audio.ogg_comments import holds_flac, lost_comments

Metadata = Annotation | Blocks | Chunks

_LAYOUTS = {"WAV": RIFF, "WAVEX": RIFF, "RF64": RIFF, "AIFF": AIFF, "CAF": CAF, "W64": W64}


def read_metadata(path: Path, format: str) -> tuple[Metadata | None, str]:
    """What can be copied from a file into one of a format of libsndfile, if anything, and what is lost.

    From a file of another kind nothing is copied byte for byte, and nothing counts as lost: its tags are carried over.
    """
    try:
        if layout := _LAYOUTS.get(format):
            return read_chunks(path, layout)
        if format == "FLAC":
            return read_blocks(path)
        if format == "AU":
            return read_annotation(path)
        if format == "OGG":
            names = lost_comments(path)
            losses = [f"libsndfile cannot write its comments {few(names)}"] if names else []
            count = ogg_streams(path)
            losses += [f"its {count} streams become one"] if count > 1 else []
            losses += ["its lossless sound becomes lossy"] if holds_flac(path) else []
            return None, " and ".join(losses)
    except OSError as error:
        return None, f"its metadata cannot be read: {error.strerror}"
    return None, ""
