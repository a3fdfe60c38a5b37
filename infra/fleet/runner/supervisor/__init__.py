"""The supervisor of a runner's VM: what it decides, and on a VM what carries that out.

Decisions are coroutines: each yields its effects as values, is answered, and changes the state. They call no clock, no
network and no disk, so that a VM (`__main__`), a guest of the local cloud and the fleet simulation drive the same ones.
Standard library of Python 3.10 alone: the oldest that a declared TPU runtime brings (Ubuntu 22.04; tpu7x has 24.04 and
3.12). No module here knows another room: the bundle carries this folder alone.
"""
