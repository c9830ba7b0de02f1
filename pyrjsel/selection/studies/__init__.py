"""Several fits side by side."""
