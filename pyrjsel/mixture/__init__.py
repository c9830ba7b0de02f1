"""Mixture classifiers with selection of inputs."""
