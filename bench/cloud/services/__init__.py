"""What each Google API does here; importing this package registers all of them."""

from importlib import import_module
from pkgutil import walk_packages

__all__ = [module.name for module in walk_packages(__path__, f"{__name__}.")]

for _name in __all__:
    import_module(_name)
