"""Coding theory: words for classes. No torch here."""

from codednet.codes.bounds import delsarte_bound, distance_bound, johnson_bound
from codednet.codes.code import Code

__all__ = ["Code", "delsarte_bound", "distance_bound", "johnson_bound"]
