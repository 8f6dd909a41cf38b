"""The speech task: noisy waveforms in, clean ones out."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hamiltone.data.files import Progress
from hamiltone.errors import InputError
from hamiltone.losses import EnhancementLoss
from hamiltone.metrics import check_metrics, compute
from hamiltone.models import (
    PRESETS,
    CompactConfig,
    Enhancer,
    EnhancerConfig,
    Header,
    RowConfig,
    SpeechConfig,
    build,
    bundled,
    load_checkpoint,
    save_checkpoint,
)
from hamiltone.models.bottleneck import Bottleneck
from hamiltone.models.enhancer import rms_level
from hamiltone.training.speech_data import SpeechBatch, open_data
from hamiltone.training.speech_recipe import SpeechRecipe
from hamiltone.training.task import Media, start_from


class SpeechTask:
    """Trains an `Enhancer` on pairs of noisy and clean segments; implements `hamiltone.training.task.Task`."""

    unit = "audio s"
    higher_is_better = True

    def __init__(self, recipe: SpeechRecipe, progress: Progress | None = None) -> None:
        check_metrics(recipe.validation.metrics)  # now, not at the first validation
        self.recipe, self.select_by = recipe, recipe.validation.select_by
        self.start, self.config = _starting_point(recipe)
        self.criterion = EnhancementLoss(recipe.loss, n_fft=self.config.n_fft, hop=self.config.hop)
        self.training, self.validation = open_data(recipe.data, recipe.seed, recipe.validation.limit, progress)
        self._shown = False

    def build(self) -> Enhancer:
        """A fresh model, or one with the weights to start from."""
        return start_from(self.start, build(self.config), self.recipe.init)

    def compile(self, model: nn.Module) -> None:
        """Compile only the blocks of the bottleneck, where much can be fused; convolutions would not get faster."""
        for bottleneck in model.modules():
            if isinstance(bottleneck, Bottleneck):
                for block in bottleneck.blocks():
                    block.compile(dynamic=False)  # segments have one length

    def loss(self, model: nn.Module, batch: SpeechBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """The weighted sum of the recipe's terms, and the terms."""
        noisy, clean = batch
        level = rms_level(noisy)  # at the network's level: quiet recordings count as much as loud ones
        return self.criterion.to(noisy.device)(model(noisy / level), clean / level)

    def units(self, batch: SpeechBatch) -> float:
        """Seconds of audio."""
        return batch[0].numel() / self.config.sample_rate

    def measure(self, model: nn.Module, batch: SpeechBatch) -> dict[str, Tensor]:
        """The loss, the recipe's metrics, and the gain of each over the noisy input."""
        noisy, clean = batch
        enhanced = model(noisy)
        level = rms_level(noisy)
        loss, _ = self.criterion.to(noisy.device)(enhanced / level, clean / level)
        scores = [self._scores(*triple) for triple in zip(enhanced.cpu(), noisy.cpu(), clean.cpu(), strict=True)]
        metrics = {name: torch.tensor([score[name] for score in scores]) for name in scores[0]}
        return metrics | {"loss": loss.expand(len(noisy)).cpu()}

    def _scores(self, enhanced: Tensor, noisy: Tensor, clean: Tensor) -> dict[str, float]:
        names, rate = self.recipe.validation.metrics, self.config.sample_rate
        after, before = (compute(names, signal.numpy(), clean.numpy(), rate) for signal in (enhanced, noisy))
        return {**after, **{f"{name}_gain": after[name] - before[name] for name in names}}

    @torch.no_grad()
    def media(self, model: nn.Module) -> Media:
        """Held-out recordings, the noisy and clean ones only once, and spectrograms of noisy, enhanced and clean."""
        media = Media()
        device = next(model.parameters()).device
        for number in range(min(self.recipe.validation.shown, len(self.validation))):
            noisy, clean = self.validation[number]
            signals = {"noisy": noisy[0], "enhanced": model(noisy.to(device))[0].cpu(), "clean": clean[0]}
            for name in ["enhanced"] if self._shown else signals:
                media.sounds[f"{number}/{name}"] = (signals[name], self.config.sample_rate)
            media.pictures[f"{number}/spectrograms"] = stacked_spectrograms([*signals.values()])
        self._shown = True
        return media

    def export(self, path: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """A checkpoint that `hamiltone enhance --model` reads."""
        name = next((name for name, config in PRESETS.items() if config == self.config), "")
        if not isinstance(model, Enhancer):
            raise TypeError(f"expected an Enhancer, got {type(model).__name__}")
        save_checkpoint(path, model, Header(self.config, name, facts))


def stacked_spectrograms(signals: list[Tensor], n_fft: int = 512, decibels: float = 80.0) -> Tensor:
    """Log magnitudes of signals ``(L,)`` of one length on top of another, as a grey picture ``(1, height, frames)``."""
    window = torch.hann_window(n_fft)
    spectra = torch.stft(torch.stack(signals), n_fft, n_fft // 4, window=window, return_complex=True).abs()
    levels = 20 * torch.log10(spectra / spectra.max().clamp_min(1e-12) + 1e-12)
    return (1 + levels / decibels).clamp(0, 1).flip(1).flatten(0, 1)[None]  # low frequencies at the bottom


def _starting_point(recipe: SpeechRecipe) -> tuple[Enhancer | None, SpeechConfig]:
    """The model to start from, if the recipe names one, and the configuration to train."""
    if recipe.init is None:
        if recipe.model is None:
            raise InputError("expected a [model] table, or init = a checkpoint to start from")
        return None, recipe.model
    start, header = load_checkpoint(bundled().get(recipe.init, Path(recipe.init)))
    config = recipe.model or header.config
    assert isinstance(config, EnhancerConfig | CompactConfig | RowConfig)
    return start, config
