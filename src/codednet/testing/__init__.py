"""Hypothesis strategies for code that uses codednet. Needs hypothesis, which codednet itself does not install."""

from codednet.testing.strategies import code_sizes, codes, designed_codes, word_tables

__all__ = ["code_sizes", "codes", "designed_codes", "word_tables"]
