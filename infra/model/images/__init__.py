"""Container images as data: what is built, from what, pushed where, when, and what a change of files rebuilds.

Pure: files in, values out. Steps of a build and their renderings are here too; who runs them is not (fleet, local).
"""

from typing import Final

RESOLVE: Final = "./tidepool images bases --resolve"
"""The one command that resolves what is unresolved, on a machine with internet."""
TRIGGER: Final = "gcp:cloudbuild/trigger:Trigger"
