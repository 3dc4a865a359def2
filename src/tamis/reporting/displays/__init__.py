"""Figures: one file of Displays a method."""
