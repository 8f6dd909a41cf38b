"""What a recipe says about the run itself: frozen tables, every key known. A task's recipe adds tables of its own."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)


class Table(BaseModel):
    """A table of a recipe: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Budget(Table):
    """How long to train; the run ends where the first of these is spent. They may change when a run is resumed."""

    epochs: PositiveInt | None = None
    steps: PositiveInt | None = None
    minutes: PositiveFloat | None = None

    @model_validator(mode="after")
    def _is_limited(self) -> Self:
        if self.epochs is None and self.steps is None and self.minutes is None:
            raise ValueError("expected one of epochs, steps and minutes")
        return self


class Batches(Table):
    """Samples of one optimiser step, over all processes; `accumulate` cuts them into parts that fit into memory.

    Batch norms then normalise each part by itself.
    """

    size: PositiveInt
    accumulate: PositiveInt = 1
    workers: NonNegativeInt = 0


class Optimiser(Table):
    """AdamW or SOAP, the norm to which gradients are clipped, and the decay of the average of the weights (0: none).

    SOAP (Vyas et al. 2024) is Adam in the eigenbasis of Shampoo's Kronecker factors, which are renewed every
    `precondition_steps`: for small models it costs next to nothing and learns more from every step. It wants a higher
    rate than AdamW, and betas of 0.95.
    """

    kind: Literal["adamw", "soap"] = "adamw"
    lr: PositiveFloat
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: NonNegativeFloat = 0.01
    clip: PositiveFloat = 1.0
    ema: float = Field(default=0.999, ge=0, lt=1)
    precondition_steps: PositiveInt = 10


class Schedule(Table):
    """The learning rate over the run: up for `warmup` steps, then along a cosine to the share `final`, or constant."""

    kind: Literal["cosine", "constant"] = "cosine"
    warmup: NonNegativeInt = 0
    final: float = Field(default=0.0, ge=0, le=1)


class Run(Table):
    """Where and how: what does not belong to the experiment itself."""

    folder: Path
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    log_steps: PositiveInt = 50
    validate_epochs: PositiveInt = 1
    save_minutes: PositiveFloat = 10.0


class Recipe(Table):
    """Everything that determines a run."""

    task: str
    seed: NonNegativeInt = 0
    init: str | None = Field(default=None, description="a checkpoint or a bundled model to start from")
    budget: Budget
    batches: Batches
    optimiser: Optimiser
    schedule: Schedule = Schedule()
    run: Run

    def experiment(self) -> dict[str, Any]:
        """What was trained and how, without where files lie: what a checkpoint may tell others."""
        content: dict[str, Any] = _without_paths(self.model_dump(exclude={"run"}))
        return content | {"init": self.init and Path(self.init).stem}


def _without_paths(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_paths(entry) for key, entry in value.items() if not isinstance(entry, Path)}
    if isinstance(value, tuple):
        return [_without_paths(entry) for entry in value if not isinstance(entry, Path)]
    return value


MAY_CHANGE = frozenset(
    {
        "budget.epochs",
        "budget.steps",
        "budget.minutes",
        "batches.workers",
        "run.folder",
        "run.log_steps",
        "run.save_minutes",
        "run.validate_epochs",
    }
)
"""Keys that may differ when a run is resumed: they move its end, or nothing that is computed."""
