"""What each Google API does here; importing this package registers all of them."""

from importlib import import_module
from pkgutil import iter_modules

__all__ = [module.name for module in iter_modules(__path__)]

for _name in __all__:
    import_module(f"{__name__}.{_name}")
