from dataclasses import fields
from typing import get_args, get_origin

import pytest

from hamiltone.errors import InputError
from hamiltone.models import PRESETS
from hamiltone.models.configs import _FAMILIES, BOUNDS, from_json, to_json


def _numbers(family: str) -> list[tuple[str, bool]]:
    """The fields of a family that are numbers or tuples of numbers, and which of them are tuples."""
    found = []
    for entry in fields(_FAMILIES[family]):
        is_tuple = get_origin(entry.type) is tuple
        kind = get_args(entry.type)[0] if is_tuple else entry.type
        if kind in (int, float):
            found.append((entry.name, is_tuple))
    return found


def _changed(family: str, **changes: object) -> dict[str, object]:
    required = {"block": "conformer", "attention": "shared"} if family == "paper" else {}
    return to_json(_FAMILIES[family](**required)) | changes


@pytest.mark.parametrize("family", _FAMILIES)
def test_every_number_of_a_configuration_has_bounds_and_is_held_to_them(family: str) -> None:
    for name, is_tuple in _numbers(family):
        low, high = BOUNDS[name]
        for value in (low - 1, high + 1, 1e300, float("nan"), 10**400, "4", None, True, [[1]]):
            with pytest.raises(InputError, match=name) as error:
                from_json(_changed(family, **{name: [value] if is_tuple else value}))
            assert len(str(error.value)) < 200 and "\n" not in str(error.value)


@pytest.mark.parametrize("family", _FAMILIES)
def test_bounds_leave_room_for_what_there_is(family: str) -> None:
    assert to_json(from_json(_changed(family))) == _changed(family)
    for config in PRESETS.values():
        assert from_json(to_json(config)) == config


@pytest.mark.parametrize("family", ["paper", "compact", "rows"])
def test_a_second_has_at_most_two_thousand_frames(family: str) -> None:
    """Attention over the frames of a second would take minutes."""
    from_json(_changed(family, n_fft=400, hop=96, sample_rate=192_000))
    for sizes in ({"n_fft": 16, "hop": 1}, {"n_fft": 400, "hop": 95}):
        with pytest.raises(InputError, match="at most 2,000 frames per second"):
            from_json(_changed(family, **sizes, sample_rate=192_000))


def test_tuples_are_short() -> None:
    with pytest.raises(InputError, match="channels must be a list of at most 16 numbers"):
        from_json(_changed("compact", channels=[1] * 17))


def test_a_configuration_must_be_a_table() -> None:
    with pytest.raises(InputError, match=r"must be a table, got \[1\]"):
        from_json([1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="family must be one of"):
        from_json({"family": {}})
