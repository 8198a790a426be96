"""A third party's extension module: compiled against the installed declarations of tenferro, outside its tree."""

from Cython.Build import cythonize
from setuptools import Extension, setup

import tenferro

include = tenferro.get_include()
client = Extension("client", ["client.pyx"], include_dirs=[include, f"{include}/tenferro/_core"])
setup(name="client", ext_modules=cythonize([client], include_path=[include], language_level=3))
