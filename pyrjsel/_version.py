"""The version of the package."""

# A literal, because the build reads it without importing the package; asking the metadata of the
# installed package instead would add 30 ms to every import.
__version__ = "0.1.0.dev0"
