"""Readers of lines: svmlight, Vowpal Wabbit."""
