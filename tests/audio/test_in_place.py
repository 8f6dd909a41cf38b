from pathlib import Path

import pytest

from hamiltone.audio.in_place import FirstBytes, shift


@pytest.mark.parametrize(("start", "by"), [(0, 3), (10, 3_000_000), (2_500_000, 1), (100, 0)])
def test_everything_from_a_place_on_moves_and_nothing_else(tmp_path: Path, start: int, by: int) -> None:
    path, content = tmp_path / "a", bytes(range(256)) * 10_000
    path.write_bytes(content)
    with path.open("r+b") as file:
        shift(file, start, by)
    after = path.read_bytes()
    assert after[:start] == content[:start]
    assert after[start + by :] == content[start:]


def test_the_first_bytes_are_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with FirstBytes(tmp_path / "a", 6) as file:
        assert (file.seek(0, 2), file.seek(-2, 2), file.tell()) == (6, 4, 4)
        buffer = bytearray(4)
        assert file.readinto(buffer) == 2
        assert buffer[:2] == b"45"
        file.seek(8)
        assert file.readinto(buffer) == 0
