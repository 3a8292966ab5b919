"""Write docs/figures/concepts.svg, the drawing of docs/concepts.md: one image, two coded blocks, three readings.

    uv run python tools/make_concepts_figure.py

The words are those of the class cat in the paper's CIFAR-10 network; the heights of the bars are drawn, not measured.
"""

from pathlib import Path

from drawing import arrow, box, page, rect, text

FILE = Path(__file__).parent.parent / "docs" / "figures" / "concepts.svg"
CAT = {
    "5 of 10": ("0011001101", [3, 2, 19, 24, 4, 3, 17, 23, 5, 20]),
    "3 of 10": ("0000001110", [2] * 6 + [30, 33, 29, 2]),
}
STEP = 17
WIDTH = 10 * STEP + 24
TITLE = "One image on its way through a coded network"
DESCRIPTION = (
    "An image of a cat passes blocks that all classes share, then a coded block in which 5 of 10 branches are the "
    "cat's, then one in which 3 of 10 are, then the classifier. The energies of the branches of each coded block lie "
    "nearest to the word of cat, which is an early answer. The cat's branches alone, cut out, are a smaller network "
    "that detects cats."
)


def main() -> None:
    parts = [text(20, 34, TITLE, "head"), *image(20, 120), *shared(160, 90)]
    for x, (name, (word, energies)) in zip((390, 620), CAT.items(), strict=True):
        parts += coded(x, 90, name, word, energies)
    parts += [
        box(850, 130, 90, 60),
        text(895, 156, "classifier", middle=True),
        text(895, 176, "cat", "head", middle=True),
    ]
    parts += [
        arrow(104, 160, 154),
        arrow(160 + WIDTH, 160, 384),
        arrow(390 + WIDTH, 160, 614),
        arrow(620 + WIDTH, 160, 844),
    ]
    parts += [
        '<path class="path" d="M 160 330 H 940"/>',
        text(
            160,
            352,
            "The network of cats alone: the shared blocks, the branches in blue, one output. Cut out, not trained.",
        ),
    ]
    FILE.write_text(page(960, 376, TITLE, DESCRIPTION, parts))
    print(FILE)


def image(x: int, y: int) -> list[str]:
    cat = "M 24 62 V 26 L 36 38 H 52 L 64 26 V 62 Z"
    return [
        box(x, y, 84, 84),
        f'<path class="on" d="{cat}" transform="translate({x - 2} {y})"/>',
        text(x + 42, y + 106, "an image", "small", middle=True),
    ]


def shared(x: int, y: int) -> list[str]:
    parts = [box(x, y, WIDTH, 140), text(x + WIDTH / 2, y - 12, "first blocks", "head", middle=True)]
    parts += [rect(x + 14 + STEP * n, y + 30, 11, 70, "shared") for n in range(10)]
    return [*parts, text(x + WIDTH / 2, y + 126, "all branches, all classes", "small", middle=True)]


def coded(x: int, y: int, name: str, word: str, energies: list[int]) -> list[str]:
    parts = [box(x, y, WIDTH, 140), text(x + WIDTH / 2, y - 12, f"coded block, {name}", "head", middle=True)]
    for n, (digit, energy) in enumerate(zip(word, energies, strict=True)):
        left = x + 14 + STEP * n
        kind = "on" if digit == "1" else "off"
        parts += [rect(left, y + 40, 11, 60, kind), rect(left, y + 34 - energy * 0.8, 11, energy * 0.8, kind)]
        parts.append(text(left + 5.5, y + 120, digit, "word", middle=True))
    middle = x + WIDTH / 2
    return [
        *parts,
        f'<path class="line" d="M {middle} {y + 140} V {y + 166}"/>',
        text(middle, y + 184, "energies, on top, lie nearest", "small", middle=True),
        text(middle, y + 202, "to the word of cat:", middle=True),
        text(middle, y + 220, "an early answer", "small", middle=True),
    ]


if __name__ == "__main__":
    main()
