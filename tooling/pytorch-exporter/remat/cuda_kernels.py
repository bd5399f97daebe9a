"""Makes a step on CPU tensors use the kernels of CUDA where their memory differs: attention and dropout."""

from __future__ import annotations

import contextlib
import math

import torch
import torch.nn.functional as F

_aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)
# Limits of the kernels for devices from compute capability 8.0 on.
_FLASH_HEAD_DIM = 256
_FLASH_ALIGNMENT = 8
_MASK_ALIGNMENT = 8
_BYTES_ALIGNMENT = 16


@contextlib.contextmanager
def cuda_kernels():
    """A context in which `scaled_dot_product_attention` on the CPU uses the kernel that CUDA would choose, and
    `dropout` uses the fused kernel.

    The order of choice is flash attention, memory-efficient attention, matrix products. Each is used if it supports the
    arguments and `torch.backends.cuda` has it enabled, as in aten/src/ATen/native/transformers/cuda/sdp_utils.cpp.
    These kernels cannot compute on real CPU tensors, so this works for fake tensors only.
    """
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("scaled_dot_product_attention", _attend, "AutogradCPU")
        library.impl("dropout", _drop, "AutogradCPU")
        yield
    finally:
        library._destroy()


def _attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if _flash_can(query, key, value, attn_mask, enable_gqa):
        width = query.size(-1)
        scale = 1 / math.sqrt(width) if scale is None else scale
        padded = [_padded(one, _FLASH_ALIGNMENT) for one in (query, key, value)]
        attended = _aten._scaled_dot_product_flash_attention(*padded, dropout_p, is_causal, False, scale=scale)[0]
        return attended[..., :width] if attended.size(-1) != width else attended
    if _efficient_can(query, key, value, enable_gqa):
        needs_gradient = any(one.requires_grad for one in (query, key, value))
        bias = _bias(attn_mask, query, key)
        return _aten._scaled_dot_product_efficient_attention(query, key, value, bias, needs_gradient, dropout_p, is_causal, scale=scale)[0]
    return _aten._scaled_dot_product_attention_math(query, key, value, _as_numbers(attn_mask, query), dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa)[0]


def _flash_can(query, key, value, mask, enable_gqa):
    return (
        torch.backends.cuda.flash_sdp_enabled()
        and mask is None
        and _are_batched(query, key, value)
        and query.dtype in _HALF
        and query.size(-1) == key.size(-1) == value.size(-1) <= _FLASH_HEAD_DIM
        and (_have_the_same_heads(query, key, value) or (enable_gqa and query.size(1) % key.size(1) == 0))
    )


def _efficient_can(query, key, value, enable_gqa):
    alignment = _BYTES_ALIGNMENT // query.dtype.itemsize
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and not (enable_gqa and not _have_the_same_heads(query, key, value))
        and _are_batched(query, key, value)
        and _have_the_same_heads(query, key, value)
        and query.dtype in (*_HALF, torch.float32)
        and query.size(-1) % alignment == 0
        and value.size(-1) % alignment == 0
    )


def _are_batched(*tensors):
    return all(one.dim() == 4 and one.numel() > 0 and one.stride(-1) == 1 for one in tensors) and len({(one.size(0), one.dtype) for one in tensors}) == 1


def _have_the_same_heads(*tensors):
    return len({one.size(1) for one in tensors}) == 1


def _padded(tensor, alignment):
    short = -tensor.size(-1) % alignment
    return F.pad(tensor, (0, short)) if short else tensor


def _as_numbers(mask, query):
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), -math.inf)


def _bias(mask, query, key):
    """Returns the mask as the kernel reads it: padded to whole vectors, for each batch and head."""
    mask = _as_numbers(mask, query)
    if mask is None:
        return None
    if mask.stride(-1) != 1 or any(stride % _MASK_ALIGNMENT for stride in mask.stride()[:-1]):
        mask = _padded(mask, _MASK_ALIGNMENT)[..., : mask.size(-1)]
    return mask.expand(query.size(0), query.size(1), query.size(-2), key.size(-2))


def _drop(tensor, p, train):
    if not train or p == 0 or tensor.numel() == 0:
        return tensor
    if p == 1:
        return tensor.mul(torch.zeros((), dtype=tensor.dtype))
    return _aten.native_dropout(tensor, p, train)[0]
