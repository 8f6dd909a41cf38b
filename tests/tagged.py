"""Tags around recordings, built by hand, and the way of a sound from file to file."""

from pathlib import Path

from hamiltone.audio.io import open_reader, open_writer, output_encoding

CUE = (1).to_bytes(4, "little") + (7).to_bytes(4, "little") * 2 + b"data" + bytes(8) + (7).to_bytes(4, "little")
INFO = b"INFO" + b"INAM" + (6).to_bytes(4, "little") + b"a talk" + b"IENG" + (4).to_bytes(4, "little") + b"Mary"
WAV_CHUNKS = [
    (b"bext", b"a scene".ljust(602, b"\0")),
    (b"iXML", b"<BWFXML><TAKE>3</TAKE></BWFXML>"),  # of odd length
    (b"cue ", CUE),
    (b"LIST", INFO),
    (b"id3 ", bytes(70_000)),
    (b"axml", b"<description>".ljust(2**20 + 1)),  # more than is copied at a time, and of odd length
]
ID3V1 = b"TAG" + b"a talk".ljust(125, b"\0")


def id3v2(title: str) -> bytes:
    """A tag of version 2.4."""
    text = b"\3" + title.encode()
    frames = b"TIT2" + len(text).to_bytes(4, "big") + b"\0\0" + text
    return b"ID3\4\0\0" + bytes([0, 0, 0, len(frames)]) + frames


def ape(header: bool = True) -> bytes:
    """A tag with two items, the way that players and gain programs write it."""
    items = b"".join(
        len(text).to_bytes(4, "little") + bytes(4) + name + b"\0" + text
        for name, text in ((b"Title", b"a talk"), (b"replaygain_track_gain", b"-3 dB"))
    )

    def end(flags: int) -> bytes:
        numbers = (2000, len(items) + 32, 2, flags)
        return b"APETAGEX" + b"".join(number.to_bytes(4, "little") for number in numbers) + bytes(8)

    return end(0xA0000000) + items + end(0x80000000) if header else items + end(0)


def with_chunks(path: Path, chunks: list[tuple[bytes, bytes]], order: str) -> None:
    """Put some of the chunks before the sound and some after it; libsndfile takes no odd ones before that of RF64."""
    data = path.read_bytes()
    packed = [name + len(content).to_bytes(4, order) + content + bytes(len(content) % 2) for name, content in chunks]
    first = 12 + 8 + 28 if data.startswith(b"RF64") else 12  # ds64 comes first
    early = 1 if data.startswith(b"RF64") else 2
    whole = data[:first] + b"".join(packed[:early]) + data[first:] + bytes(len(data) % 2) + b"".join(packed[early:])
    if not data.startswith(b"RF64"):
        whole = whole[:4] + (len(whole) - 8).to_bytes(4, order) + whole[8:]
    path.write_bytes(whole)


def copy_sound(source: Path, target: Path) -> str:
    """Write the sound of a file to another or in its place; returns the note on what was lost."""
    with open_reader(source) as reader:
        info = reader.info
        with open_writer(target, output_encoding(info, target), info, info.frames) as writer:
            while len(block := reader.read(10_000)):
                writer.write(block)
    return writer.note
