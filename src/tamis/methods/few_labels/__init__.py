"""Tri-class support vector machines for few labels."""
