"""docs/deviations.md has a row for every knob of the paper's recipes."""

from pathlib import Path

import pytest

from hamiltone.training import load_recipe
from hamiltone.training.reading import flat

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["voicebank", "dns3"])
def test_every_key_of_a_recipe_has_a_row(name):
    page = (ROOT / "docs" / "deviations.md").read_text()
    recipe = flat(load_recipe(ROOT / "recipes" / f"{name}.toml"))
    keys = [key for key in recipe if not key.startswith(("run.", "model.")) or key == "run.validate_epochs"]
    assert len(keys) > 25
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_dns_is_mixed_without_augmentation():
    variety = load_recipe(ROOT / "recipes" / "dns3.toml").data.variety
    changed = ("retuned", "equalised_speech", "equalised_noise", "band_limited", "encoded", "clipped", "no_speech")
    assert all(getattr(variety, name) == 0 for name in (*changed, "no_noise", "synthetic", "babble", "layered"))
    assert variety.recorded == 1
