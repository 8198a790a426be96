"""The compiled kernel; everything else about the distribution is in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup

import tenferro

include = tenferro.get_include()
kernels = Extension(
    "tenferro_compensated.kernels",
    ["src/tenferro_compensated/kernels.pyx"],
    include_dirs=[include, f"{include}/tenferro/_core", f"{include}/tenferro/_kernels"],
)
setup(ext_modules=cythonize([kernels], include_path=[include], build_dir="build", language_level=3))
