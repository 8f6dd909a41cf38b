"""All presets with their size and cost."""

from typing import Any

import torch

from hamiltone.models.cost import macs_per_second
from hamiltone.models.presets import PRESETS, attention_choices, build


def catalogue() -> list[dict[str, Any]]:
    """One row for each preset, with its default attention; ready for JSON."""
    rows = []
    for name, config in PRESETS.items():
        with torch.device("meta"):
            model = build(config)
        rows.append(
            {
                "name": name,
                "params": sum(parameter.numel() for parameter in model.parameters()),
                "macs_per_second": round(macs_per_second(model)),
                "attention": list(attention_choices(config)),
                "n_fft": config.n_fft,
                "hop": config.hop,
                "sample_rate": config.sample_rate,
            }
        )
    return rows
