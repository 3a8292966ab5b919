"""`import codednet` and `codednet --help` stay light."""

import subprocess
import sys
import time

import pytest

HEAVY = ("torch", "timm", "numpy", "scipy", "matplotlib", "jsonargparse", "lightning", "rich")
LIGHT = ["import codednet", "from codednet.cli.main import main; main(['--help'])"]


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("code", LIGHT)
def test_nothing_heavy_is_loaded(code):
    loaded = python(f"{code}\nimport sys\nprint('loaded:', *sorted(sys.modules))").split("loaded:")[1].split()
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("code", LIGHT)
def test_light_parts_take_under_four_tenths_of_a_second(code):
    def seconds():
        started = time.perf_counter()
        python(code)
        return time.perf_counter() - started

    assert min(seconds() for _ in range(5)) < 0.4


def test_designing_a_code_loads_no_torch():
    loaded = python("import codednet, sys\ncodednet.design_code(10, 10, 3)\nprint(*sys.modules)").split()
    assert not {"torch", "timm", "matplotlib"} & set(loaded)


@pytest.mark.slow
def test_no_command_but_train_and_sweep_imports_lightning(finished_run, pictures, tmp_path):
    image = str(next((pictures / "test" / "class1").iterdir()))
    commands = {
        "design": ["--classes=3", "--branches=4", "--active=2"],
        "info": ["coded_resnext20_10x4d"],
        "evaluate": [str(finished_run)],
        "predict": [str(finished_run), image],
    }
    code = (
        "import sys; from codednet.cli.main import main\n"
        f"for command, arguments in {commands}.items():\n"
        "    assert main([command, *arguments]) == 0, command\n"
        "import importlib; from codednet.cli.main import COMMANDS\n"
        "for command, (module, *_) in COMMANDS.items():\n"
        "    if command not in ('train', 'sweep'): importlib.import_module(module)\n"
        "print('loaded:', *sorted(sys.modules))"
    )
    loaded = python(code).split("loaded:")[1].split()
    assert "torch" in loaded
    assert not {"lightning", "lightning.pytorch", "tensorboard"} & set(loaded)
