import json
import os
from pathlib import Path

import pytest

from hamiltone.corpus.ledger import Ledger
from hamiltone.errors import InputError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "done.jsonl"


def test_what_was_added_is_there_after_another_start(path):
    with Ledger(path) as ledger:
        ledger.add([{"id": "a", "seconds": 1.5}, {"id": "b", "error": "broken"}])
    with Ledger(path) as ledger:
        assert ledger.get("a") == {"id": "a", "seconds": 1.5}
        assert (len(ledger), ledger.failed, ledger.seconds, ledger.failures()) == (2, 1, 1.5, ["b"])
        assert "c" not in ledger and ledger.get("c") is None


def test_a_line_is_on_the_disk_before_its_clip_counts_as_done(path, monkeypatch):
    synced = []
    with Ledger(path) as ledger:
        monkeypatch.setattr(os, "fsync", lambda handle: synced.append((os.fstat(handle).st_size, "a" in ledger)))
        ledger.add([{"id": "a"}])
        assert synced == [(path.stat().st_size, False)] and "a" in ledger


def test_a_clip_that_comes_twice_counts_once(path):
    with Ledger(path) as ledger:
        assert [entry["id"] for entry in ledger.add([{"id": "a"}, {"id": "a"}, {"id": "b"}])] == ["a", "b"]
        assert ledger.add([{"id": "a", "seconds": 1.0}]) == []
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_torn_last_line_is_ignored_and_written_again(path, cut):
    with Ledger(path) as ledger:
        ledger.add([{"id": "a"}, {"id": "b", "text": "é"}])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with Ledger(path) as ledger:
        assert "a" in ledger and "b" not in ledger
        ledger.add([{"id": "b", "text": "é"}])
    assert path.read_bytes() == whole


def test_a_line_that_the_disk_has_damaged_costs_only_its_clip(path):
    lines = [json.dumps({"id": id}) for id in "abc"]
    path.write_text("\n".join([lines[0], "\x00\x00", '{"id": 5}', lines[2]]) + "\n")
    with Ledger(path) as ledger:
        assert [id in ledger for id in "abc"] == [True, False, True]


def test_what_failed_and_then_succeeds_is_a_success_after_the_next_start(path):
    with Ledger(path) as ledger:
        ledger.add([{"id": "a", "error": "no such file"}])
        ledger.forget(ledger.failures())
        assert "a" not in ledger and ledger.failed == 0
        ledger.add([{"id": "a", "seconds": 2.0}])
    with Ledger(path) as ledger:
        assert ledger.failed == 0 and ledger.get("a") == {"id": "a", "seconds": 2.0} and ledger.seconds == 2.0


def test_the_seconds_of_a_forgotten_clip_do_not_count(path):
    with Ledger(path) as ledger:
        ledger.add([{"id": "a", "seconds": 2.0}, {"id": "b", "seconds": 1.5}])
        ledger.forget(["a"])
        assert (len(ledger), ledger.seconds) == (1, 1.5)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line_that_names_the_list(path):
    with pytest.raises(InputError, match="full: cannot write: No space left on device"), Ledger(path) as ledger:
        ledger._file.close()
        ledger._file = Path("/dev/full").open("wb")  # noqa: SIM115
        ledger.add([{"id": "a"}])
