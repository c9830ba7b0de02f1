"""Sequential Bayesian kernel regression: a particle filter that finds its kernels."""

from pyrjsel.kernel.loading import read_results
from pyrjsel.kernel.model import KernelRegression, kernel_regression
from pyrjsel.kernel.prediction import KernelPrediction
from pyrjsel.kernel.results import KernelResults

__all__ = ["KernelPrediction", "KernelRegression", "KernelResults", "kernel_regression", "read_results"]
