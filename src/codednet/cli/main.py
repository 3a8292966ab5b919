"""`codednet COMMAND ...`: finds the command and runs it. Light: nothing heavy loads before a command is known."""

import importlib
import sys
from collections.abc import Sequence

from codednet.errors import CodednetError, nearest_name

# Command -> (module with one dataclass of options and `run(options) -> exit status`, its name, help).
COMMANDS = {
    "design": ("codednet.cli.design", "DesignConfig", "design a code and certify it, or check an existing one"),
    "info": ("codednet.cli.info", "InfoConfig", "say what a network is made of, and how large each class's path is"),
    "train": ("codednet.cli.train", "TrainConfig", "train by a recipe into a run folder, or go on with a run"),
    "sweep": ("codednet.cli.sweep", "SweepConfig", "many trainings of one recipe into one folder"),
    "evaluate": ("codednet.cli.evaluate", "EvaluateConfig", "accuracy on a split, per class and per early decoder"),
    "extract": ("codednet.cli.extract", "ExtractConfig", "the smaller network of some classes, cut out, not trained"),
    "detectors": ("codednet.cli.detectors", "DetectorsConfig", "every class's detector: threshold, precision, recall"),
    "calibrate": ("codednet.cli.calibrate", "CalibrateConfig", "confidences that mean what they say, kept for predict"),
    "exits": ("codednet.cli.exits", "ExitsConfig", "choose an exit rule for a risk; accuracy against cost"),
    "predict": ("codednet.cli.predict", "PredictConfig", "label images or folders of images"),
    "report": ("codednet.cli.report", "ReportConfig", "every table and figure of a run on one page"),
    "benchmark": ("codednet.cli.benchmark", "BenchmarkConfig", "side-by-side speed and memory ratios on this machine"),
    "demo": (
        "codednet.cli.demo",
        "DemoConfig",
        "the whole story on bundled images, in minutes: train, measure, show",
    ),
}

_USAGE = "usage: codednet [--help] [--version] [--debug] COMMAND ..."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; exit status 0 done, 1 failed, 2 the user's input."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if arguments[0] == "--version":
        from codednet import __version__

        print(f"codednet {__version__}")
        return 0
    command, *rest = arguments
    if command not in COMMANDS:
        return _refuse("codednet", f"unknown command {command!r}: {nearest_name(command, COMMANDS)}")
    try:
        return _run(command, rest)
    except CodednetError as error:
        if debug:
            raise
        return _refuse(f"codednet {command}", str(error))
    except KeyboardInterrupt:
        return _refuse(f"codednet {command}", "interrupted", status=130)
    except Exception as error:
        if debug:
            raise
        return _refuse(f"codednet {command}", f"{type(error).__name__}: {error} (--debug shows where)", status=1)


def _run(command: str, arguments: list[str]) -> int:
    module_name, options_name, _ = COMMANDS[command]
    module = importlib.import_module(module_name)
    from codednet.cli.arguments import parse

    options = parse(getattr(module, options_name), arguments, f"codednet {command}")
    return 0 if options is None else int(module.run(options))


def _refuse(prefix: str, message: str, status: int = 2) -> int:
    print(f"{prefix}: {message}", file=sys.stderr)
    return status


def _help() -> str:
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {text}" for name, (_, _, text) in COMMANDS.items()]
    return "\n".join(
        [
            _USAGE,
            "",
            "Classifiers whose classes travel known paths.",
            "",
            "commands:",
            *lines,
            "",
            "`codednet COMMAND --help` says what a command takes. --debug shows tracebacks of errors.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
