"""Operations on stacks: what their files say, what an engine would do and does, and what then stands."""
