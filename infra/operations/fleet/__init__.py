"""Operations on the fleets of stacks, as they stand and as the controller keeps them."""
