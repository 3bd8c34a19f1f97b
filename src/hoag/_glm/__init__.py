"""Models made of rows; what is public of it is in hoag.glm and hoag.models."""
