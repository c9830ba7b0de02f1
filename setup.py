"""Build of the compiled extensions; all metadata live in pyproject.toml.

The extensions are listed by name: a file that a pattern misses would give a wheel without it and
without an error.

Environment
-----------
PYRJSEL_DEBUG=1
    Build with bounds and initialisation checks and C assertions, in a build folder of its own.
PYRJSEL_CFLAGS
    Flags of the C compiler that come after those below, such as -O0 for a quick build. A change of them
    needs ``rm -rf build``.
"""

import os
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("PYRJSEL_DEBUG", "") not in ("", "0")

# Neither Cython nor setuptools notices that the directives or flags have changed, so the two builds
# share nothing. The generated C stays out of the source tree.
BUILD = "build/debug" if DEBUG else "build/release"

# No fused multiply-add and no reassociation: results are the same on every instruction set. No value
# depends on errno or floating-point traps either, and without them loops are vectorised whole.
FLAGS = ["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-g0"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
FLAGS += os.environ.get("PYRJSEL_CFLAGS", "").split()

NUMPY_RANDOM = Path(np.__file__).parent / "random" / "lib"
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]

# Inlined into the C sources.
ELEMENTARY = "pyrjsel/_core/elementary.h"


def extension(name: str, *sources: str, random: bool = False) -> Extension:
    """Describe the extension `name`, made of ``name.pyx`` and hand-written C `sources`."""
    return Extension(
        name,
        [name.replace(".", "/") + ".pyx", *sources],
        include_dirs=[np.get_include(), "pyrjsel/_core", *{str(Path(source).parent) for source in sources}],
        define_macros=MACROS,
        extra_compile_args=FLAGS,
        library_dirs=[str(NUMPY_RANDOM)] if random else [],
        libraries=(["npyrandom"] if random else []) + ["m"],
        depends=[str(Path(source).with_suffix(".h")) for source in sources] + [ELEMENTARY] * bool(sources),
    )


# What Cython would repeat in every module (memoryviews above all): compiled once, and imported by the others.
SHARED = "pyrjsel._core._cyutility"

EXTENSIONS = [
    Extension(SHARED, [SHARED.replace(".", "/") + ".c"], define_macros=MACROS, extra_compile_args=FLAGS),
    extension("pyrjsel._core._vecmath", "pyrjsel/_core/vecmath.c"),
    extension("pyrjsel._core._linalg"),
    extension("pyrjsel._core._rows"),
    extension("pyrjsel.model_space._index"),
    extension("pyrjsel.model_space._space", random=True),
    extension("pyrjsel.model_space._trades", random=True),
    extension("pyrjsel.families._binary", "pyrjsel/families/binary.c"),
    extension("pyrjsel.families._family"),
    extension("pyrjsel.families._cox"),
    extension("pyrjsel.families._mixtures", "pyrjsel/families/mixtures.c"),
    extension("pyrjsel.families._multinomial"),
    extension("pyrjsel.families._sized"),
    extension("pyrjsel.families._student"),
    extension("pyrjsel.kernel._filter", random=True),
    extension("pyrjsel.kernel._kernels"),
    extension("pyrjsel.mixture._chain", random=True),
    extension("pyrjsel.mixture._gibbs", random=True),
    extension("pyrjsel.mixture._jumps", random=True),
    extension("pyrjsel.mixture._labels", random=True),
    extension("pyrjsel.mixture._mixture", random=True),
    extension("pyrjsel.mixture._null"),
    extension("pyrjsel.mixture._predict"),
    extension("pyrjsel.patterns._closed"),
    extension("pyrjsel.patterns._distinct"),
    extension("pyrjsel.patterns._linear", random=True),
    extension("pyrjsel.patterns._matching"),
    extension("pyrjsel.patterns._slice", random=True),
    extension("pyrjsel.patterns._split", random=True),
    extension("pyrjsel.patterns._suffix"),
    extension("pyrjsel.selection.samplers.reversible_jump._blocks", random=True),
    extension("pyrjsel.selection.evidence._adjusted"),
    extension("pyrjsel.selection.evidence._conjugate", "pyrjsel/selection/evidence/entering.c"),
    extension("pyrjsel.selection.evidence._evidence"),
    extension("pyrjsel.selection.samplers.reversible_jump._gaussian_jump", random=True),
    extension("pyrjsel.selection.samplers.reversible_jump._size_jump", random=True),
    extension("pyrjsel.selection.samplers.collapsed._corrected", random=True),
    extension("pyrjsel.selection.samplers.gibbs._gibbs", random=True),
    extension("pyrjsel.selection.regression._gram"),
    extension("pyrjsel.selection.evidence._importance"),
    extension("pyrjsel.selection.evidence._laplace"),
    extension("pyrjsel.selection.evidence._mode_search"),
    extension("pyrjsel.selection.samplers.reversible_jump._moves", random=True),
    extension("pyrjsel.selection.samplers.reversible_jump._population", random=True),
    extension("pyrjsel.selection.regression._problem"),
    extension("pyrjsel.selection.samplers.reversible_jump._rjmcmc", random=True),
    extension("pyrjsel.selection.priors._score", "pyrjsel/selection/priors/score.c"),
    extension("pyrjsel.selection.samplers.mode_search._search"),
    extension("pyrjsel.selection.evidence._spike", random=True),
    extension("pyrjsel.selection.evidence._student"),
    extension("pyrjsel.selection.samplers._subsets"),
    extension("pyrjsel.selection.evidence._laplace_evidence"),
    extension("pyrjsel.selection.evidence._refitted"),
    extension("pyrjsel.selection.evidence._table_evidence"),
    extension("pyrjsel.selection.evidence._tableau"),
    extension("pyrjsel.selection.samplers.reversible_jump._trades", random=True),
    extension("pyrjsel.selection.evidence._variance", random=True),
    extension("pyrjsel.selection.samplers._walk", random=True),
    extension("pyrjsel.selection.regression._typed", "pyrjsel/selection/regression/typed.c"),
    extension("pyrjsel.selection.regression._weighted"),
]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    # No check for None: Cython allows it with the lock held only, and the loops run without.
    "nonecheck": False,
    "cdivision": True,
    "binding": True,
    "embedsignature": True,
}

# What makes archives of sources or metadata compiles nothing.
COMPILES = not {"sdist", "egg_info", "dist_info"} & set(sys.argv[1:])


def compiled() -> list[Extension]:
    """Return the extensions with their generated C."""
    return cythonize(
        EXTENSIONS,
        build_dir=f"{BUILD}/cython",
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        nthreads=2 if sys.platform == "linux" else 0,
    )


# The guard matters: Cython's worker processes may import this file again.
if __name__ == "__main__":
    setup(
        ext_modules=compiled() if COMPILES else EXTENSIONS,
        options={"build": {"build_base": BUILD}, "build_ext": {"parallel": 2}},
    )
