"""What each Google API does here, one module a service; importing this package registers all of them."""
