"""All presets with their size and cost."""

from typing import Any

from hamiltone.models.cost import size_and_cost
from hamiltone.models.presets import PRESETS, attention_choices


def catalogue() -> list[dict[str, Any]]:
    """One row for each preset, with its default attention; ready for JSON."""
    rows = []
    for name, config in PRESETS.items():
        parameters, macs = size_and_cost(config)
        rows.append(
            {
                "name": name,
                "params": parameters,
                "macs_per_second": macs,
                "attention": list(attention_choices(config)),
                "n_fft": config.n_fft,
                "hop": config.hop,
                "sample_rate": config.sample_rate,
            }
        )
    return rows
