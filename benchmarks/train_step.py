"""Training steps, inference and memory of the coded networks against their plain twins; `--help` lists the options.

Run it on an otherwise idle machine. A ratio whose rounds disagree is refused, not printed.
"""

import argparse
import sys

from codednet.cli.benchmark import BenchmarkConfig, run


def main() -> int:
    defaults = BenchmarkConfig()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=defaults.models)
    parser.add_argument("--modes", nargs="+", default=defaults.modes)
    parser.add_argument("--precisions", nargs="+", default=defaults.precisions)
    parser.add_argument("--inference-batches", nargs="+", type=int, default=defaults.inference_batches)
    parser.add_argument("--batch", type=int, default=defaults.batch)
    parser.add_argument("--rounds", type=int, default=defaults.rounds)
    parser.add_argument("--threads", type=int, default=defaults.threads)
    parser.add_argument("--device", default=defaults.device)
    parser.add_argument("--limit", type=float, default=defaults.limit)
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = vars(parser.parse_args())
    return run(BenchmarkConfig(**{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}))


if __name__ == "__main__":
    sys.exit(main())
