import os
import shutil
import subprocess
import tarfile

import pytest

import clips
from hamiltone.corpus.columns import batch_clips, clip_columns
from hamiltone.corpus.inputs import list_rows
from hamiltone.errors import InputError


@pytest.fixture
def clip(tmp_path):
    return clips.write_clip(tmp_path / "in" / "one.wav", 0, seconds=0.2)


def test_a_folder_is_listed_in_the_order_of_names_without_the_output_and_hidden_files(tmp_path, clip):
    folder = clip.parent
    for name in ("b/two.wav", "a/three.flac", "out/audio/one.wav"):
        clips.write_clip(folder / name, 0, seconds=0.2)
    (folder / ".hidden.wav").write_bytes(b"")
    (folder / "notes.txt").write_text("no sound")
    ids = [row.id for row in list_rows(folder, folder / "out")]
    assert ids == ["one.wav", "a/three.flac", "b/two.wav"]


def test_folders_behind_links_are_entered_once(tmp_path, clip):
    elsewhere = clips.write_clip(tmp_path / "elsewhere" / "two.wav", 0, seconds=0.2).parent
    for name, target in {"a": elsewhere, "b": elsewhere, "loop": clip.parent}.items():
        (clip.parent / name).symlink_to(target)
    assert [row.id for row in list_rows(clip.parent, tmp_path / "out")] == ["one.wav", "a/two.wav"]


def test_ids_do_not_depend_on_where_a_folder_stands(tmp_path, clip):
    before = [row.id for row in list_rows(clip.parent, tmp_path / "out")]
    moved = clip.parent.rename(tmp_path / "elsewhere")
    assert [row.id for row in list_rows(moved, tmp_path / "out")] == before


def test_a_name_that_is_no_text_is_a_fault_of_its_row(tmp_path, clip):
    clip.rename(os.fsdecode(os.fsencode(clip.parent) + b"/\xe9.wav"))
    (row,) = list_rows(clip.parent, tmp_path / "out")
    assert row.clip is None and "not UTF-8" in row.fault


def test_a_manifest_keeps_every_field_and_takes_paths_from_where_it_lies(tmp_path, clip):
    source = clips.manifest(tmp_path / "m.jsonl", [{"audio_filepath": "in/one.wav", "text": "Grüße", "deep": {"a": 1}}])
    (row,) = list_rows(source, tmp_path / "out")
    assert row.fields == {"audio_filepath": "in/one.wav", "text": "Grüße", "deep": {"a": 1}}
    assert row.clip is not None and row.clip.path == str(clip) and row.id == "in/one.wav"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{broken", "not a line of JSON"),
        ("[" * 200_000, "not a line of JSON"),
        ('"text"', "no audio_filepath"),
        ('{"text": "no path"}', "no audio_filepath"),
        ('{"audio_filepath": ""}', "no audio_filepath"),
        ('{"audio_filepath": "in/one.wav", "offset": -1}', "seconds"),
        ('{"audio_filepath": "in/one.wav", "offset": 0, "duration": "long"}', "seconds"),
        (f'{{"audio_filepath": "in/one.wav", "offset": 1{"0" * 400}}}', "seconds"),
    ],
)
def test_a_broken_line_is_a_fault_of_its_row_and_the_next_goes_on(tmp_path, clip, line, fault):
    source = clips.manifest(tmp_path / "m.jsonl", [line, {"audio_filepath": "in/one.wav"}])
    first, second = list_rows(source, tmp_path / "out")
    assert fault in first.fault and first.id == "m.jsonl:1"
    assert second.clip is not None


def test_what_windows_writes_into_a_manifest_is_read(tmp_path, clip):
    """A mark at the beginning, carriage returns, blank lines; and a line in another encoding is a fault."""
    (tmp_path / "m.jsonl").write_bytes(
        b'\xef\xbb\xbf{"audio_filepath": "in/one.wav"}\r\n\r\n  \r\n{"audio_filepath": "in/one.wav", "id": "\xe9"}\r\n'
        b'{"audio_filepath": "in/one.wav", "id": "last"}'
    )
    rows = list(list_rows(tmp_path / "m.jsonl", tmp_path / "out"))
    assert [(row.id, row.fault) for row in rows] == [("in/one.wav", ""), ("m.jsonl:4", "is not UTF-8"), ("last", "")]


def test_an_empty_id_is_none(tmp_path, clip):
    source = clips.manifest(tmp_path / "m.jsonl", [{"audio_filepath": "in/one.wav", "id": ""}])
    (row,) = list_rows(source, tmp_path / "out")
    assert row.id == "in/one.wav" and row.clip is not None
    assert batch_clips(clip_columns([row.clip])) == [row.clip]  # as a worker of Ray gets it


def test_an_id_that_has_come_before_is_a_fault(tmp_path, clip):
    rows = [{"audio_filepath": "in/one.wav", "id": "a"}, {"audio_filepath": "in/one.wav", "id": "b"}]
    source = clips.manifest(tmp_path / "m.jsonl", [*rows, rows[0], {"audio_filepath": "in/one.wav"}])
    found = list(list_rows(source, tmp_path / "out"))
    assert [row.id for row in found if row.clip] == ["a", "b", "in/one.wav"]
    assert "the id 'a' occurs earlier" in found[2].fault


def test_a_shard_that_leads_nowhere_is_a_fault_and_the_others_go_on(tmp_path, clip):
    (tmp_path / "shards").mkdir()
    clips.shard(tmp_path / "shards" / "b.tar", [clip])
    (tmp_path / "shards" / "a.tar").symlink_to(tmp_path / "nowhere")
    first, second = list_rows(tmp_path / "shards", tmp_path / "out")
    assert "No such file" in first.fault and second.clip is not None


def test_parts_of_one_recording_are_clips_of_their_own(tmp_path, clip):
    parts = [{"audio_filepath": "in/one.wav", "offset": start, "duration": 0.1} for start in (0, 0.1)]
    found = [row.clip for row in list_rows(clips.manifest(tmp_path / "m.jsonl", parts), tmp_path / "out")]
    assert [(part.id, part.offset, part.duration) for part in found if part] == [
        ("in/one.wav#0+0.1", 0.0, 0.1),
        ("in/one.wav#0.1+0.1", 0.1, 0.1),
    ]


def test_shards_lie_in_a_folder_or_below_it_and_those_that_are_compressed_are_no_silent_loss(tmp_path, clip):
    folder = tmp_path / "shards"
    (folder / "more").mkdir(parents=True)
    for path in (folder / "b.tar", folder / "more" / "b.tar"):
        clips.shard(path, [clip])
    for name in ("a.tar.gz", "._b.tar"):
        (folder / name).write_bytes(b"\x1f\x8b")
    found = {row.id: row.fault.split(";")[0] for row in list_rows(folder, tmp_path / "out")}
    compressed = "shards are read in place and must not be compressed"
    assert found == {"a.tar.gz": compressed, "b.tar/sample000": "", "more/b.tar/sample000": ""}


def test_audio_files_beside_shards_are_refused_and_a_shard_far_below_audio_files_is_a_fault(tmp_path, clip):
    clips.shard(tmp_path / "in" / "a.tar", [clip])
    with pytest.raises(InputError, match=r"holds shards and audio files, such as one\.wav"):
        list(list_rows(clip.parent, tmp_path / "out"))
    (clip.parent / "old").mkdir()
    (clip.parent / "a.tar").rename(clip.parent / "old" / "a.tar")
    first, second = list_rows(clip.parent, tmp_path / "out")
    assert first.clip is not None
    assert second.id == "old/a.tar" and "is a shard, not audio" in second.fault


def test_hidden_members_of_a_shard_are_ignored(tmp_path, clip):
    """As the Mac packs them beside each file."""
    with tarfile.open(tmp_path / "s.tar", "w") as tar:
        for name in ("._one.wav", "one.wav", "deep/._two.wav", "deep/two.wav", "./three.wav"):
            tar.add(clip, name)
    assert [row.id for row in list_rows(tmp_path / "s.tar", tmp_path / "out")] == [
        "s.tar/one",
        "s.tar/deep/two",
        "s.tar/./three",
    ]


def test_samples_of_a_shard_have_the_fields_of_their_json_and_texts(tmp_path, clip):
    source = clips.shard(tmp_path / "a.tar", [clip, clip])
    first, second = list_rows(source, tmp_path / "out")
    assert first.id == "a.tar/sample000"
    assert second.fields == {"shard": "a.tar", "key": "sample001", "speaker": 1, "txt": "take 1"}
    assert first.clip is not None and first.clip.byte_count == clip.stat().st_size
    with source.open("rb") as file:
        file.seek(first.clip.first_byte)
        assert file.read(first.clip.byte_count) == clip.read_bytes()


def test_a_member_without_a_suffix_makes_no_field_without_a_name(tmp_path, clip):
    (tmp_path / "one").write_text("a note")
    with tarfile.open(tmp_path / "s.tar", "w") as tar:
        tar.add(clip, "one.wav")
        tar.add(tmp_path / "one", "one")
    (row,) = list_rows(tmp_path / "s.tar", tmp_path / "out")
    assert row.clip is not None and row.fields == {"shard": "s.tar", "key": "one"}


@pytest.mark.parametrize("share", [0.5, 0.75, 0.98, 1.0])
def test_a_shard_that_ends_in_the_middle_gives_what_it_holds_and_a_fault(tmp_path, clip, share):
    source = clips.shard(tmp_path / "a.tar", [clip] * 4)
    with tarfile.open(source) as tar:
        end = max(member.offset_data + member.size for member in tar)
    os.truncate(source, round(end * share))
    found = list(list_rows(source, tmp_path / "out"))
    whole = [row for row in found if row.clip]
    assert 1 <= len(whole) < 4 and [row.fault for row in found if not row.clip]
    assert all(row.clip.first_byte + row.clip.byte_count <= end * share for row in whole)


def test_a_shard_with_a_broken_header_in_its_middle_does_not_pass_for_a_short_one(tmp_path, clip):
    source = clips.shard(tmp_path / "a.tar", [clip] * 3)
    with tarfile.open(source) as tar:
        header = tar.getmembers()[6].offset
    with source.open("r+b") as file:
        file.seek(header)
        file.write(b"\xff" * 512)
    found = list(list_rows(source, tmp_path / "out"))
    assert [row.id for row in found if row.clip] == ["a.tar/sample000"]
    assert "damaged" in found[-1].fault


@pytest.mark.parametrize(("name", "words"), [("none", "no such"), ("a.tar.gz", "compressed"), ("one.wav", "hamiltone")])
def test_what_is_no_corpus_is_refused_in_one_line(tmp_path, name, words):
    if name != "none":
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputError, match=words) as error:
        list(list_rows(tmp_path / name, tmp_path / "out"))
    assert "\n" not in str(error.value)


def test_a_sound_that_is_a_link_in_a_shard_is_a_fault_and_no_loss(tmp_path, clip):
    """GNU tar packs the second name of a file as a link to the first."""
    with tarfile.open(tmp_path / "s.tar", "w") as tar:
        tar.add(clip, "first.wav")
        for name, kind in {
            "second.wav": tarfile.LNKTYPE,
            "third.wav": tarfile.SYMTYPE,
            "cover.jpg": tarfile.LNKTYPE,
        }.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "first.wav"
            tar.addfile(member)
    found = {row.id: row.fault for row in list_rows(tmp_path / "s.tar", tmp_path / "out")}
    link = "{}.wav is a link in the shard; pack the whole file"
    assert found == {
        "s.tar/first": "",
        "s.tar/second": link.format("second"),
        "s.tar/third": link.format("third"),
        "s.tar/cover": "the sample holds no audio",
    }


def test_a_sparse_sound_in_a_shard_is_a_fault_and_not_read_as_it_lies(tmp_path, clip):
    """What precedes and follows its holes lies together, and its size is that with the holes."""
    sparse, content = tmp_path / "sparse.wav", clip.read_bytes()
    with sparse.open("wb") as file:
        file.write(content)
        file.seek(1 << 20)
        file.write(content)
    if sparse.stat().st_blocks * 512 > 1 << 19 or not (tar := shutil.which("tar")):
        pytest.skip("needs a file system with sparse files, and GNU tar")
    for number in range(30):  # so that the shard does not end before the size
        clips.write_clip(tmp_path / "in" / f"{number}.wav", number, seconds=2)
    names = ["sparse.wav", *sorted(f"in/{path.name}" for path in clip.parent.iterdir())]
    subprocess.run([tar, "--sparse", "-cf", tmp_path / "s.tar", "-C", tmp_path, *names], check=True)
    first, *others = list_rows(tmp_path / "s.tar", tmp_path / "out")
    assert first.id == "s.tar/sparse" and first.fault == "sparse.wav is a sparse file in the shard; pack the whole file"
    assert len(others) == 31 and all(row.clip for row in others)
