"""Coding theory: words for classes. No torch here."""

from codednet.codes.assign import JointOrder, SimilarityOrder, WorstPairs, order_by_similarity, order_jointly
from codednet.codes.bounds import delsarte_bound, distance_bound, johnson_bound
from codednet.codes.code import Code
from codednet.codes.design import design_code
from codednet.codes.library import find_code, shipped_code, shipped_sizes

__all__ = [
    "Code",
    "JointOrder",
    "SimilarityOrder",
    "WorstPairs",
    "delsarte_bound",
    "design_code",
    "distance_bound",
    "find_code",
    "johnson_bound",
    "order_by_similarity",
    "order_jointly",
    "shipped_code",
    "shipped_sizes",
]
