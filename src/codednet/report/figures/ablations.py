"""Ablations."""

from codednet.report.figures import Story

SHOWS = (
    "Trainings that differ in one thing: the weight mu of the coding loss, the probability of dropping a branch, the "
    "exponent of the coding loss, the order of rates, the code itself."
)

STORY = Story(shows=SHOWS)
