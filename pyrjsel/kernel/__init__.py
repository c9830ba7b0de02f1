"""Sequential Bayesian kernel regression: a particle filter that finds its kernels."""

from pyrjsel.kernel.loading import read_results
from pyrjsel.kernel.model import KernelRegression
from pyrjsel.kernel.predict import KernelPrediction
from pyrjsel.kernel.results import KernelResults
from pyrjsel.kernel.short import kernel_regression

__all__ = ["KernelPrediction", "KernelRegression", "KernelResults", "kernel_regression", "read_results"]
