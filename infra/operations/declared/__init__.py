"""What the files of a checkout declare, as operations read it: stacks, versions of them, images. It asks no cloud."""
