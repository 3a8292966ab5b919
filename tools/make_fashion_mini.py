"""Write the bundled part of Fashion-MNIST, src/codednet/data/files/fashion-mini.npz.

1,200 of each class of the training set and 200 of each class of the test set, drawn by a fixed seed and kept in their
order. The idx files come from the Debian package `dataset-fashion-mnist`, through `tools/fetch_data.py`:

    uv run python tools/fetch_data.py fashion-mnist --root data
    uv run python tools/make_fashion_mini.py --root data
"""

import argparse
from pathlib import Path

import numpy as np
from torchvision.datasets import FashionMNIST

from codednet.data.splits import draw

FILE = Path(__file__).parent.parent / "src" / "codednet" / "data" / "files" / "fashion-mini.npz"
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="data", help="folder that holds FashionMNIST/raw")
    root = parser.parse_args().root
    images, labels = zip(part(root, train=True, of_each=1200), part(root, train=False, of_each=200), strict=True)
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        FILE, images=np.concatenate(images), labels=np.concatenate(labels).astype(np.uint8), train=len(labels[0])
    )
    print(f"{FILE.name}: {len(labels[0])} and {len(labels[1])} images, {FILE.stat().st_size / 1e6:.2f} MB")


def part(root: str, train: bool, of_each: int) -> tuple[np.ndarray, np.ndarray]:
    whole = FashionMNIST(root, train=train, download=False)
    labels = whole.targets.numpy()
    _, drawn = draw(np.arange(len(labels)), labels, np.full(10, of_each), SEED, number=0 if train else 1)
    chosen = np.sort(drawn)
    return whole.data.numpy()[chosen], labels[chosen]


if __name__ == "__main__":
    main()
