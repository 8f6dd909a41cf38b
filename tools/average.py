"""Averages of two checkpoints of one model, validated as in training: where two runs differ, often better than either.

``python tools/average.py recipes/live.toml OLD NEW --share 0.5 --share 0.7 data.root=VoiceBank data.cache=cache``

prints the validation metrics with each share of NEW, on the recordings that training holds out. With one share and
``--out FILE`` the average is written, as a checkpoint that says of what it was made.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hamiltone.models import Enhancer, Header, build, load_checkpoint, save_checkpoint
from hamiltone.training import SpeechRecipe, SpeechTask, load_recipe


def average(old: Enhancer, new: Enhancer, share: float) -> dict[str, Tensor]:
    """The parameters and statistics `share` of the way from old to new; whole numbers, such as counts, are new's."""
    pairs = zip(old.state_dict().items(), new.state_dict().values(), strict=True)
    return {name: a.lerp(b, share) if a.is_floating_point() else b for (name, a), b in pairs}


def validate(model: Enhancer, task: SpeechTask) -> dict[str, float]:
    """The mean of every metric over the validation recordings."""
    sums: dict[str, float] = {}
    with torch.no_grad():
        for index in range(len(task.validation)):
            for name, value in task.measure(model, task.validation[index]).items():
                sums[name] = sums.get(name, 0.0) + float(torch.as_tensor(value).mean())
    return {name: total / len(task.validation) for name, total in sums.items()}


def _origin(header: Header) -> dict[str, Any]:
    return {"seed": header.training.get("recipe", {}).get("seed"), "step": header.training.get("step")}


def main() -> None:
    """Print a line for every share, and write the average if a file is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--share", type=float, action="append", required=True, help="of the new weights")
    parser.add_argument("--out", type=Path)
    given = parser.parse_intermixed_args()
    if given.out and len(given.share) != 1:
        parser.error("--out takes one share")
    (old, before), (new, header) = load_checkpoint(given.old), load_checkpoint(given.new)
    if before.config != header.config:
        parser.error("the two checkpoints are of different models")
    recipe = load_recipe(given.recipe, given.overrides)
    assert isinstance(recipe, SpeechRecipe)
    task = SpeechTask(recipe)
    for share in given.share:
        model = build(header.config)
        assert isinstance(model, Enhancer)
        model.load_state_dict(average(old, new, share))
        metrics = validate(model.eval(), task)
        print(share, ", ".join(f"{name} {value:.4f}" for name, value in metrics.items()), flush=True)
        if given.out:
            made = [{"share": part, **_origin(one)} for one, part in ((before, 1 - share), (header, share))]
            training = {**header.training, "metrics": metrics, "averaged": made}
            save_checkpoint(given.out, model, replace(header, training=training))


if __name__ == "__main__":
    main()
