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


def stated() -> dict[str, str]:
    """What the page says about the values of keys, as the recipes have them."""
    pairs, dns = (flat(load_recipe(ROOT / "recipes" / f"{name}.toml")) for name in ("voicebank", "dns3"))

    def both(key: str, form: str = "{}") -> str:
        return f"{form.format(pairs[key])} (VB), {form.replace(' samples', '').format(dns[key])} (DNS)"

    snr, level = (" to ".join(f"{end:g}" for end in dns[f"data.variety.{name}_db"]) for name in ("snr", "level"))
    same = ("optimiser.weight_decay", "optimiser.ema", *(key for key in pairs if key.startswith("loss.")))
    assert all(pairs[key] == dns[key] for key in same)
    return {
        "budget.epochs": both("budget.epochs"),
        "batches.size": both("batches.size"),
        "optimiser.lr": both("optimiser.lr", "{:.0e}").replace("e-0", "e-"),
        "optimiser.betas": "| {:g}, {:g} |".format(*pairs["optimiser.betas"]),
        "optimiser.weight_decay": f"| {pairs['optimiser.weight_decay']:g}, the default of AdamW",
        "optimiser.clip": f"norm {pairs['optimiser.clip']}",
        "optimiser.ema": f"| {pairs['optimiser.ema']:g}: the moving average",
        "schedule.warmup": f"| {pairs['schedule.warmup']:g} and {pairs['schedule.final']:g} |",
        "data.segment": both("data.segment", "{:,} samples"),
        "data.held_out": f"{' and '.join(pairs['data.held_out'])} (VB); {100 * dns['data.held_out']:g} % of speakers",
        "data.held_out_segment": f"{dns['data.held_out_segment']:,}; {dns['data.held_out_length']} mixtures",
        "data.variety.snr_db": f"{snr} dB and {level} dB",
        "run.validate_epochs": f"every {pairs['run.validate_epochs']} epochs (VB)",
        "validation.limit": f"{pairs['validation.limit']} recordings (VB), all {dns['data.held_out_length']} (DNS)",
    } | {key: f"| {value}" if value else "| 0 |" for key, value in pairs.items() if key.startswith("loss.")}


def test_the_values_of_a_row_are_those_of_the_recipes():
    lines = (ROOT / "docs" / "deviations.md").read_text().splitlines()
    rows = {key: line for key in stated() for line in lines if f"`{key}`" in line and line.startswith("|")}
    assert {key: text for key, text in stated().items() if text not in rows[key]} == {}


def test_dns_is_mixed_without_augmentation():
    variety = load_recipe(ROOT / "recipes" / "dns3.toml").data.variety
    changed = ("retuned", "equalised_speech", "equalised_noise", "band_limited", "encoded", "clipped", "no_speech")
    assert all(getattr(variety, name) == 0 for name in (*changed, "no_noise", "synthetic", "babble", "layered"))
    assert variety.recorded == 1
