"""Certified data thresholding."""
