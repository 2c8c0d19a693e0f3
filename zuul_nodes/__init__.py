"""Node and image management inside an unmodified Zuul.

Every Python program of the environment imports this package (see
``autoload.py``), so this file imports nothing.
"""


def __getattr__(name: str) -> str:
    if name == '__version__':
        # By what is installed; see setuptools_scm in pyproject.toml.
        from importlib.metadata import version
        return version('zuul-nodes')
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
