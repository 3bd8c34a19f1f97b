"""Operators and the only factorisations of the package."""
