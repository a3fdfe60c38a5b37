"""What a consumer repository wants tested, built and published, one YAML file each; how is the generator's."""

from workflows.spec.load import Spec, SpecLine, load_spec, read_spec, spec_names

__all__ = ["Spec", "SpecLine", "load_spec", "read_spec", "spec_names"]
