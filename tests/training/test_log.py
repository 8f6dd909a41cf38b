import json
import math

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from hamiltone.training.folder import RunFolder
from hamiltone.training.log import Log, RunLog, counting_bar
from hamiltone.training.task import Media


def test_figures_sounds_and_pictures_reach_the_log(tmp_path, capsys):
    tone = torch.sin(torch.arange(800) / 4)
    with RunLog(RunFolder(tmp_path), step=0, position=0.0) as log:
        log.show(0.5, "epoch 1 · loss 0.5")
        log.record("train", 10, {"loss": 0.5})
        log.media(10, Media({"0/clean": (tone, 8000)}, {"0/picture": torch.rand(1, 6, 9)}))
        log.say("a line [with] brackets")
    assert json.loads((tmp_path / "log.jsonl").read_text()) == {"kind": "train", "step": 10, "loss": 0.5}
    board = EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={}).Reload()
    assert board.Scalars("train/loss")[0].value == 0.5
    assert board.Audio("0/clean")[0].sample_rate == 8000
    assert math.prod((board.Images("0/picture")[0].width, board.Images("0/picture")[0].height)) == 54
    assert capsys.readouterr().err == "step 10: epoch 1 · loss 0.5\na line [with] brackets\n"


def test_a_resumed_log_forgets_what_came_after_the_state(tmp_path):
    lines = [json.dumps({"kind": "train", "step": step}) for step in (1, 2, 3)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + '\n5\n{"x": 1}\n{"kind": "tr')
    with RunLog(RunFolder(tmp_path), step=2, position=0.0) as log:
        log.record("train", 3, {"loss": 1.0})
    steps = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3]


def test_the_log_of_other_processes_is_silent(capsys):
    with Log() as log:
        log.record("train", 1, {"loss": 0.0})
        log.media(1, Media())
        log.show(0.5, "half")
        log.say("nothing")
    assert capsys.readouterr() == ("", "")


def test_a_counting_bar_counts_without_a_terminal_too(capsys):
    with counting_bar("decoding") as count:
        count(1, 2)
        count(2, 2)
    assert "decoding" not in capsys.readouterr().err
