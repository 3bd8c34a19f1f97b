"""Rows that are not one array in memory; what is public of it is in hoag.data."""
