"""All metadata are in pyproject.toml; here is what it can't say.

The start-up files belong beside the package in site-packages, a place
for which setuptools has no option.
"""

import pathlib

import setuptools
from setuptools.command.build_py import build_py

STARTUP_FILES = ('zuul_nodes.pth', 'zuul_nodes.start')


class BuildWithStartupFiles(build_py):
    def run(self):
        super().run()
        # An editable wheel holds what is "installed" in it, and nothing
        # of what is built.
        target = (self.get_finalized_command('install').install_lib
                  if self.editable_mode else self.build_lib)
        self.mkpath(target)
        for name in STARTUP_FILES:
            self.copy_file(name, str(pathlib.Path(target, name)))

    def get_outputs(self, include_bytecode=True):
        return super().get_outputs(include_bytecode) + [
            str(pathlib.Path(self.build_lib, name))
            for name in STARTUP_FILES]

    def get_source_files(self):
        return super().get_source_files() + list(STARTUP_FILES)


setuptools.setup(cmdclass={'build_py': BuildWithStartupFiles})
