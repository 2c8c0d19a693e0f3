"""Node and image management inside an unmodified Zuul.

Imported by every Python program of the environment (see
``autoload.py``), so this file imports nothing.
"""

__version__ = '0.1.0'
