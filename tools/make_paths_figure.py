"""Write docs/figures/paths.svg, the README's picture: what the branches of a trained network do for four test images.

    uv run codednet train fashion-mini -o runs/fashion
    uv run python tools/make_paths_figure.py runs/fashion

Each image is the first of its class in the test split. All heights and answers are the network's.
"""

import base64
import io
import sys
from pathlib import Path

import torch
from drawing import box, page, rect, text
from PIL import Image

import codednet
from codednet.paths.baseline import open_run_data
from codednet.runs.folder import open_run

FILE = Path(__file__).parent.parent / "docs" / "figures" / "paths.svg"
CLASSES = ("Trouser", "Sneaker", "Bag", "Shirt")
LEFT, STEP, ROW, TOP = 124, 14, 128, 84
BLOCK = 10 * STEP + 26
PER_ENERGY = 22  # pixels that an energy of 1 is high
TITLE = "What each branch does for four test images"
DESCRIPTION = (
    "Four rows, one for a test image each, and four columns, one for a coded block each. Ten bars in each cell are the "
    "energies of the block's branches. Bars of branches that the class's word leaves on are blue and tall, the others "
    "grey and near zero. Under each cell stands the class that the block's energies already name."
)


def main() -> None:
    folder = open_run(sys.argv[1])
    model = folder.load_model()
    data = open_run_data(folder, model)
    test = data.indices("test")
    chosen = [int(test[data.labels("test") == data.classes.index(name)][0]) for name in CLASSES]
    batches = list(data.eval_loader("test", 500))
    places = torch.cat([batch.indices for batch in batches]).tolist()
    images = torch.cat([batch.images for batch in batches])[[places.index(place) for place in chosen]]
    with torch.no_grad():
        trace = model.trace(images)
    early = codednet.decode(trace.energies, model.codes)
    answers = trace.logits.argmax(1).tolist()
    width, height = LEFT + len(model.codes) * (BLOCK + 14) + 112, TOP + len(CLASSES) * ROW
    parts = [text(20, 34, f"{TITLE}: energies, and what they already say", "head")]
    for column, (name, code) in enumerate(zip(model.coded_blocks, model.codes, strict=True)):
        middle = LEFT + column * (BLOCK + 14) + BLOCK / 2
        parts.append(text(middle, TOP - 16, f"{name}, {code.active} of {code.num_branches}", "small", middle=True))
    parts.append(text(width - 62, TOP - 16, "whole network", "small", middle=True))
    for row, (name, place) in enumerate(zip(CLASSES, chosen, strict=True)):
        label, y = data.classes.index(name), TOP + row * ROW
        parts += [picture(data.source.read(place, 1), 20, y), text(62, y + 102, name, middle=True)]
        for column, (energies, code) in enumerate(zip(trace.energies, model.codes, strict=True)):
            x = LEFT + column * (BLOCK + 14)
            parts += bars(x, y, energies[row].tolist(), code.words[label])
            parts.append(said(x + BLOCK / 2, y + 102, data.classes, int(early[column, row]), label))
        parts.append(said(width - 62, y + 46, data.classes, answers[row], label))
    FILE.write_text(page(width, height, TITLE, DESCRIPTION, parts))
    print(FILE)


def picture(image: Image.Image, x: float, y: float) -> str:
    file = io.BytesIO()
    image.resize((84, 84), Image.Resampling.NEAREST).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return f'<image x="{x:g}" y="{y:g}" width="84" height="84" href="data:image/png;base64,{data}"/>'


def bars(x: float, y: float, energies: list[float], word: list[int]) -> list[str]:
    parts = [box(x, y, BLOCK, 84)]
    for branch, (energy, on) in enumerate(zip(energies, word, strict=True)):
        high = min(max(PER_ENERGY * energy, 1), 80)
        parts.append(rect(x + 14 + STEP * branch, y + 82 - high, STEP - 3, high, "on" if on else "off"))
    return parts


def said(x: float, y: float, classes: tuple[str, ...], answer: int, label: int) -> str:
    return text(x, y, classes[answer], "small" if answer == label else "wrong", middle=True)


if __name__ == "__main__":
    main()
