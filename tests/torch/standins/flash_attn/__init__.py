"""What flash-attn's functions allocate, without its kernels: the names and files that PyTorch's stacks show."""
from .flash_attn_interface import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache  # noqa: F401

__version__ = "2.7.4"
