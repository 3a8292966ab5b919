"""The paper's numbers are those that it prints, where it is said to print them, and lead to ours."""

import re
from pathlib import Path

import pytest

from codednet.experiments import NAMES
from codednet.experiments.agreement import PAPER as AGREEMENT
from codednet.experiments.calibration import PAPER as CALIBRATION
from codednet.experiments.paper import PAPER, paper_numbers, paper_table

SOURCE = Path(__file__).parents[3] / "shared" / "paper" / "coded-resnext.tex"
DATA = ("CIFAR-10", "CIFAR-100", "ImageNet")
# Where each part begins, and what it ends before.
PARTS = {
    "table 1": (r"\begin{table}", r"\label{tab:architectures}"),
    "table 2": (r"\begin{wraptable}", r"\label{tab:hyperparameters_accuracies}"),
    "table 3": (r"\begin{tabular}", r"\label{tab:conditional_accuracies}"),
    "table 5": (r"\begin{table*}", r"\label{tab:Computational_Costs}"),
    "table 6": (r"\begin{table}", r"\label{tab:ECE_MCE_half}"),
    "section 3.1": (r"\subsection{The block}", r"\subsection{The Network}"),
    "section 3.2": (r"\subsection{The Network}", r"\section{Experiments}"),
    "section 4.1": (r"\subsection{Setup and Validation Accuracy}", r"\subsection{Specialization}"),
    "section 4.3": (r"\subsection{Binary Classifier}", r"\subsection{Early Decoding}"),
    "appendix A": (r"\section{Coding schemes}", r"\section{Implementation details"),
    "appendix B": (r"\section{Implementation details", r"\section{Using early decoders"),
    "appendix E": (r"\section{Limitations}", r"\section{Additional information"),
}


@pytest.fixture(scope="module")
def text() -> str:
    if not SOURCE.is_file():
        pytest.skip("the paper's source is not part of the repository")
    return SOURCE.read_text(encoding="utf-8")


def part(text: str, where: str) -> str:
    """The part of the paper that `where` begins with."""
    first, last = next(ends for name, ends in PARTS.items() if where.split(",")[0] == name)
    end = text.index(last)
    return text[text.rindex(first, 0, end) : end]


def printed(value: float) -> str:
    """A pattern of the number: as many digits as it has, perhaps with zeros after them, and none besides."""
    digits = re.escape(str(value)) + ("0*" if isinstance(value, float) else "")
    return rf"(?<![\d.]){digits}(?!\d|\.\d)"


def test_every_number_is_printed_where_it_is_said_to_be(text):
    assert [one for one in PAPER if not re.search(printed(one.value), part(text, one.where))] == []


def test_table_3_is_copied_number_by_number(text):
    rows = re.findall(r"&\s*([\d.]+)\\%\s*&\s*([\d.]+)\\%\s*&\s*([\d.]+)\\%", part(text, "table 3"))
    assert len(rows) == 7
    for column, data in enumerate(DATA):
        assert AGREEMENT[data] == tuple(float(row[column]) for row in rows)


@pytest.mark.parametrize(("share", "label"), [(0.25, "tab:ECE_MCE_quarter"), (0.5, "tab:ECE_MCE_half")])
def test_table_6_is_copied_number_by_number(text, share, label):
    end = text.index(rf"\label{{{label}}}")
    table = text[text.rindex(r"\begin{tabular}", 0, end) : text.rindex(r"\end{tabular}", 0, end)]
    numbers = [float(found) for found in re.findall(r"(\d+\.\d+)\}?\\%", table)]
    assert len(numbers) == 12
    for row, data in enumerate(DATA):
        ece, mce, ece_aug, mce_aug = numbers[4 * row : 4 * row + 4]
        assert CALIBRATION[share][data] == {"h_T": (ece, mce), "h_aug": (ece_aug, mce_aug)}


def test_every_number_belongs_to_an_experiment_that_shows_it():
    assert {one.experiment for one in PAPER} <= set(NAMES)
    for name in NAMES:
        numbers = paper_numbers(name)
        table = paper_table(name)
        assert (table is None) == (not numbers)
        if table is not None:
            assert [row[2] for row in table.rows] == [one.value for one in numbers]


def test_pointers_lead_to_numbers_of_a_runs_record(results):
    followed = 0
    for one in PAPER:
        # A run of three stages and four early decoders has no more of them.
        if one.ours is None or one.ours.endswith("layer4") or re.match(r"/rows/[5-9]", one.ours):
            continue
        value = results(one.experiment).document["record"]
        for key in one.ours.strip("/").split("/"):
            value = value[int(key)] if isinstance(value, list) else value[key]
        assert value is None or isinstance(value, int | float)
        followed += 1
    assert followed > 20
