"""Node and image management inside an unmodified Zuul.

Every Python program of the environment imports this package (see
``autoload.py``), so this file imports nothing.
"""

__version__ = '0.1.0'
