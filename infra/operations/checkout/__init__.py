"""Operations on this checkout: its checks, and what its commands cost."""
