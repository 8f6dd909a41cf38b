"""Training on two hosts, which are network namespaces of this machine with a cable between them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hamiltone.training.device import make_fabric
from hamiltone.training.loop import train
from hamiltone.training.speech import SpeechTask
from tasks import TinyTask, speech_recipe, tiny_recipe

CHILD = Path(__file__).parent / "child.py"
TIMEOUT = 1800  # seconds, for a very busy machine: only a host that waits for ever takes so long


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


class Host:
    """A network namespace with one address."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name, self.cable = f"hamiltone-{os.getpid()}-{number}", f"ham{os.getpid() % 100_000}-{number}"
        self.address = f"10.77.{os.getpid() % 250}.{number + 1}"

    def torchrun(self, leader: "Host", folder: Path, mode: str) -> "subprocess.Popen[str]":
        """One process of two, started as docs/training.md says."""
        launcher = ["--nnodes=2", "--nproc-per-node=1", f"--node-rank={self.number}"]
        launcher += [f"--master-addr={leader.address}", "--master-port=29500"]
        command = [sys.executable, "-m", "torch.distributed.run", *launcher, str(CHILD), str(folder), mode]
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": self.cable,
            "PYTHONPATH": os.pathsep.join([str(CHILD.parents[1]), os.environ.get("PYTHONPATH", "")]),
        }
        inside = ["ip", "netns", "exec", self.name, *command]
        return subprocess.Popen(inside, stderr=subprocess.PIPE, text=True, env=environment)

    def kill(self) -> None:
        """End every process of the host at once, as a loss of power would."""
        for number in ip("netns", "pids", self.name).split():
            os.kill(int(number), signal.SIGKILL)


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    first, second = Host(0), Host(1)
    try:
        ip("netns", "add", first.name)
        ip("netns", "add", second.name)
        ip("link", "add", first.cable, "netns", first.name, "type", "veth", "peer", second.cable, "netns", second.name)
    except (OSError, subprocess.CalledProcessError):
        for host in (first, second):
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True) if shutil.which("ip") else None
        pytest.skip("needs the right to make network namespaces")
    for host in (first, second):
        ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", host.cable)
        ip("-n", host.name, "link", "set", host.cable, "up")
        ip("-n", host.name, "link", "set", "lo", "up")
    yield first, second
    for host in (first, second):
        host.kill()
        ip("netns", "del", host.name)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    state = load_file(folder / "last.safetensors")
    return {name: tensor for name, tensor in state.items() if not name.startswith("random.")}


def end(children: list["subprocess.Popen[str]"]) -> list[int]:
    codes = []
    for child in children:
        _, errors = child.communicate(timeout=TIMEOUT)
        print(errors[-2000:])
        codes.append(child.returncode)
    return codes


def test_two_hosts_equal_one_and_resume_when_one_of_them_was_lost(hosts, tmp_path):
    recipe = tiny_recipe(tmp_path / "one")
    train(TinyTask(), recipe, make_fabric(recipe.run))
    first, second = hosts

    together = tmp_path / "two"
    children = [host.torchrun(first, together, "slow") for host in hosts]
    deadline = time.monotonic() + TIMEOUT
    while not (together / "last.safetensors").exists():
        assert time.monotonic() < deadline and not any(child.poll() for child in children)
        time.sleep(0.05)
    second.kill()
    codes = end(children)
    assert all(codes), "without its partner, a host must end instead of waiting for ever"

    assert end([host.torchrun(first, together, "two") for host in hosts]) == [0, 0]
    one, two = weights(tmp_path / "one"), weights(together)
    assert one.keys() == two.keys()
    for name in one:  # the weights, their average and the optimiser's moments: all gradients so far
        torch.testing.assert_close(two[name], one[name], rtol=1e-5, atol=1e-5)


def test_speech_on_two_hosts_has_the_gradients_of_one_with_soap_and_batch_norms(hosts, tmp_path):
    """SOAP keeps G Gᵀ of all gradients; its first step changes no weights, later ones divide by tiny eigenvalues."""
    recipe = speech_recipe(tmp_path / "one")
    train(SpeechTask(recipe), recipe, make_fabric(recipe.run))
    assert end([host.torchrun(hosts[0], tmp_path / "two", "speech") for host in hosts]) == [0, 0]
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert one.keys() == two.keys()
    gradients = [name for name in one if ".GG." in name or name.endswith(".exp_avg")]
    statistics = [name for name in one if "running_" in name]
    assert len(gradients) > 50 and len(statistics) > 4
    for name in gradients + statistics:
        scale = float(one[name].abs().max())
        torch.testing.assert_close(two[name], one[name], rtol=0, atol=1e-3 * scale + 1e-12)
