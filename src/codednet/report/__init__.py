"""Figures, tables and pages: the only room that draws."""
