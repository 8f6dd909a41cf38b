"""A short sound in every container, and sounds with tags, covers, chunks, pictures, subtitles and further streams."""

from pathlib import Path

import numpy as np
import soundfile

from hamiltone.audio.flac_blocks import Blocks
from tagged import ID3V1, WAV_CHUNKS, ape, id3v2, with_chunks

RATE = 16_000
_SOUNDFILE = {
    "wav": [("WAV", s) for s in ("PCM_U8", "PCM_16", "PCM_24", "FLOAT", "DOUBLE", "ULAW", "IMA_ADPCM", "MS_ADPCM")],
    "flac": [("FLAC", "PCM_16"), ("FLAC", "PCM_24")],
    "ogg": [("OGG", "VORBIS"), ("OGG", "OPUS")],
    "opus": [("OGG", "OPUS")],
    "mp3": [("MP3", "MPEG_LAYER_III")],
    "aiff": [("AIFF", "PCM_16"), ("AIFF", "FLOAT")],
    "au": [("AU", "PCM_16")],
    "caf": [("CAF", "PCM_16"), ("CAF", "ALAC_16")],
    "w64": [("W64", "PCM_16")],
    "rf64": [("RF64", "PCM_16")],
    "nist": [("NIST", "PCM_16")],
    "voc": [("VOC", "PCM_16")],
}
_MEDIA = {
    "m4a": "aac",
    "mp4": "aac",
    "mov": "pcm_s16le",
    "mka": "ac3",
    "mkv": "libopus",
    "webm": "libopus",
    "avi": "mp3",
    "aac": "aac",
    "ac3": "ac3",
    "eac3": "eac3",
    "wma": "wmav2",
    "asf": "wmav2",
    "3gp": "aac",
    "amr": "libopencore_amrnb",
    "flv": "aac",
    "mp2": "mp2",
    "mpg": "mp2",
    "ts": "aac",
    "tta": "tta",
    "wv": "wavpack",
}
_RATES = {"libopus": 48_000, "ac3": 48_000, "eac3": 48_000, "libopencore_amrnb": 8000}  # else 44,100
_SUBTITLES = "1\n00:00:00,100 --> 00:00:00,400\nWell, well.\n\n2\n00:00:01,000 --> 00:00:02,000\nYes.\n"


def make_sounds(folder: Path) -> None:
    """All of them; those of FFmpeg only where PyAV is installed."""
    sound = (0.2 * np.random.default_rng(0).standard_normal((RATE // 2, 2))).astype(np.float32)
    for suffix, encodings in _SOUNDFILE.items():
        for format, subtype in encodings:
            rate = 48_000 if subtype == "OPUS" else RATE
            soundfile.write(folder / f"{subtype}.{suffix}", sound, rate, format=format, subtype=subtype)
    _tag(folder)
    try:
        import av
    except ImportError:
        return
    for suffix, codec in _MEDIA.items():
        if codec in av.codecs_available:
            _write_media(folder / f"{codec}.{suffix}", codec, sound)
    _make_videos(folder)


def _tag(folder: Path) -> None:
    """Copies with tags around or between the sound, and files that were joined end to end."""
    for suffix in ("wav", "aiff", "rf64"):
        tagged = folder / f"tagged.{suffix}"
        tagged.write_bytes((folder / f"PCM_16.{suffix}").read_bytes())
        with_chunks(tagged, WAV_CHUNKS[:5], "big" if suffix == "aiff" else "little")
    mp3, flac = (folder / name for name in ("MPEG_LAYER_III.mp3", "PCM_16.flac"))
    (folder / "tagged.mp3").write_bytes(id3v2("a talk") + mp3.read_bytes() + ape() + ID3V1)
    (folder / "tagged.flac").write_bytes(flac.read_bytes())
    with (folder / "tagged.flac").open("r+b") as file:
        Blocks(((6, bytes(1000)), (2, b"appldata")), id3v2("a talk"), ID3V1).embed(file)
    for name in ("VORBIS.ogg", "OPUS.opus", mp3.name, flac.name):
        (folder / f"joined{Path(name).suffix}").write_bytes(2 * (folder / name).read_bytes())


def _write_media(path: Path, codec: str, sound: np.ndarray) -> None:
    import av

    rate, layout = _RATES.get(codec, 44_100), "mono" if path.suffix == ".amr" else "stereo"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout=layout)
        stream.bit_rate = 96_000 if path.suffix != ".amr" else 12_200
        formats = [entry.name for entry in stream.codec_context.codec.audio_formats]
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(sound.T), "fltp", "stereo")
        frame.sample_rate = rate
        resampler = av.AudioResampler(format=formats[0], layout=layout, rate=rate)
        for part in resampler.resample(frame):
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))


def _make_videos(folder: Path) -> None:
    """With a picture, chapters and a second sound; one with subtitles."""
    import av

    from videos import make_video

    for suffix, picture, sound, sounds in (
        ("mp4", "mpeg4", "aac", 2),
        ("avi", "mpeg4", "libmp3lame", 1),
        ("mkv", "mpeg4", "ac3", 2),
        ("ts", "mpeg2video", "mp2", 1),
    ):
        make_video(folder / f"video.{suffix}", picture, sound, sounds=sounds)
    (folder / "titles.srt").write_text(_SUBTITLES)
    paths = (str(folder / name) for name in ("video.mkv", "titles.srt"))
    with av.open(next(paths)) as video, av.open(next(paths)) as titles:
        streams = [*video.streams, *titles.streams]
        with av.open(str(folder / "subtitled.mkv"), "w") as container:
            copies = {id(stream): container.add_stream_from_template(stream, opaque=True) for stream in streams}
            for source in (video, titles):
                for packet in source.demux():
                    if packet.size:
                        packet.stream = copies[id(source.streams[packet.stream_index])]
                        container.mux(packet)
    (folder / "titles.srt").unlink()
