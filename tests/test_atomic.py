"""Files are written whole or not at all."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hamiltone.atomic import replacing, sync_folder, write_bytes, write_text
from hamiltone.errors import InputError
from hamiltone.leftovers import create, scratch_folder


def test_the_new_content_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == tmp_path  # on the same file system, or it could not be renamed
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_content_and_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_text("new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_content_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "a.txt", []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((os.fstat(handle).st_size, path.exists())))
    write_bytes(path, b"four")
    assert synced == [(4, False)]


@pytest.mark.skipif(sys.platform == "win32", reason="no handle of a folder can be had there")
def test_a_folder_is_synced_with_the_one_that_holds_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    sync_folder(tmp_path)
    assert synced == [tmp_path.stat().st_ino, tmp_path.parent.stat().st_ino]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_sync_folders_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)
    number = errno.EIO
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_folder(tmp_path)


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_text(tmp_path / "ours", "x")
    (tmp_path / "usual").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there, and so no sweeping")
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "[a].txt"  # a name with characters that patterns know
    code = "import os, sys; from pathlib import Path; from hamiltone.atomic import replacing\n"
    code += "with replacing(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    (left,) = tmp_path.iterdir()
    living = path.with_name(f".{path.name}.living.part")
    with create(living):
        write_text(path, "x")
        assert not left.exists() and living.exists()


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*absent.a\.txt: No such file or directory"):
        write_text(tmp_path / "absent" / "a.txt", "x")


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there, and so no sweeping")
def test_a_scratch_folder_is_not_swept_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    import fcntl

    lock, others = fcntl.flock, []

    def late(file: object, operation: int) -> None:
        if operation == fcntl.LOCK_EX and not others:
            others.append(1)
            with scratch_folder("ours-"):  # of another process, just before this one gets its lock
                pass
        lock(file, operation)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", late)
    with scratch_folder("ours-") as folder:
        assert folder.is_dir() and others
        with scratch_folder("ours-"):
            assert folder.is_dir()
    assert not list(tmp_path.iterdir())
