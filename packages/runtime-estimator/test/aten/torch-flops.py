"""Writes torch-flops.json: what torch.utils.flop_counter (2.13) counts for random calls of every packet that it has a formula for.

    python torch-flops.py > torch-flops.json
"""

import json
import random

import torch
from torch.utils.flop_counter import flop_registry

random.seed(0)
aten = torch.ops.aten
n = lambda high=9: random.randint(1, high)
coin = lambda: random.random() < 0.5


def meta(*shape):
    return torch.empty(*shape, device="meta")


def conv_case(rank, transposed):
    groups, c_in, c_out = n(3), n(4), n(4)
    space = [n() + 4 for _ in range(rank)]
    taps = [n(3) for _ in range(rank)]
    stride, padding, dilation = [n(2) for _ in range(rank)], [n(3) - 1 for _ in range(rank)], [1] * rank
    x = meta(n(3), c_in * groups, *space)
    w = meta(*((c_in * groups, c_out) if transposed else (c_out * groups, c_in)), *taps)
    args = [x, w, None, stride, padding, dilation, transposed, [0] * rank, groups]
    try:
        return args, aten.convolution(*args)
    except RuntimeError:  # nothing is left of the space
        return conv_case(rank, transposed)


def attention():
    b, kv, q_per_kv, q_len, k_len, d, dv = n(3), n(3), n(2), n(), n(), n(), n()
    return meta(b, kv * q_per_kv, q_len, d), meta(b, kv, k_len, d), meta(b, kv, k_len, dv), meta(b, kv * q_per_kv, q_len, dv)


def packed(extra=()):
    """Sequences one after another, with the offsets of each."""
    heads, d, dv, batch = n(4), n(), n(), n(4)
    q, k, v = meta(*extra, n(20), heads, d), meta(*extra, n(20), heads, d), meta(*extra, n(20), heads, dv)
    return q, k, v, meta(batch + 1), meta(batch + 1), n(12), n(12)


def calls():
    for _ in range(4):
        m, k, p, b = n(), n(), n(), n()
        yield "mm", [meta(m, k), meta(k, p)], meta(m, p)
        yield "addmm", [meta(p), meta(m, k), meta(k, p)], meta(m, p)
        yield "bmm", [meta(b, m, k), meta(b, k, p)], meta(b, m, p)
        yield "baddbmm", [meta(b, m, p), meta(b, m, k), meta(b, k, p)], meta(b, m, p)
        yield "_scaled_mm", [meta(m, k), meta(k, p), meta(()), meta(())], meta(m, p)
    for rank in (1, 2, 3):
        for transposed in (False, True):
            for packet in ("convolution", "_convolution", "convolution_overrideable"):
                args, out = conv_case(rank, transposed)
                yield packet, args, out
            for mask in ([True, True, False], [False, True, True], [True, False, False]):
                (x, w, _, *rest), out = conv_case(rank, transposed)
                made = [x if mask[0] else None, w if mask[1] else None, None]
                yield "convolution_backward", [out, x, w, None, *rest, mask], made
    (x, w, _, stride, padding, dilation, _, _, groups), out = conv_case(2, False)
    yield "cudnn_convolution", [x, w, padding, stride, dilation, groups, False, False, True], out
    for _ in range(3):
        for kind in ("efficient", "flash", "cudnn"):
            q, k, v, g = attention()
            yield f"_scaled_dot_product_{kind}_attention", [q, k, v], g
            yield f"_scaled_dot_product_{kind}_attention_backward", [g, q, k, v], [q, k, v]
        q, k, v, g = attention()
        yield "_flash_attention_forward", [q, k, v, None, None, n(), n(), 0.0, False, False], g
        yield "_flash_attention_backward", [g, q, k, v, g, meta(1), None, None, n(), n(), 0.0, False], [q, k, v]
        yield "_efficient_attention_forward", [q, k, v, None, None, None, None, None, 0.0, 0], g
        yield "_efficient_attention_backward", [g, q, k, v, None, g, None, None, n(), n(), meta(1), 0.0], [q, k, v]
        q, k, v, cq, ck, mq, mk = packed()
        v = meta(k.shape[0], k.shape[1], k.shape[2])
        yield "_flash_attention_forward", [q, k, v, cq, ck, mq, mk, 0.0, False, False], q
        yield "_flash_attention_backward", [q, q, k, v, q, meta(1), cq, ck, mq, mk, 0.0, False], [q, k, v]
        q, k, v, cq, ck, mq, mk = packed((1,))
        v = meta(1, k.shape[1], k.shape[2], k.shape[3])
        yield "_efficient_attention_forward", [q, k, v, None, cq, ck, mq, mk, 0.0, 0], q
        yield "_efficient_attention_backward", [q, q, k, v, None, q, cq, ck, mq, mk, meta(1), 0.0], [q, k, v]


def encode(value, tensors):
    if isinstance(value, torch.Tensor):
        tensors.append(list(value.shape))
        return f"%{len(tensors) - 1}"
    return [encode(item, tensors) for item in value] if isinstance(value, list) else value


cases = []
for packet, args, out in calls():
    flops = flop_registry[getattr(aten, packet)](*args, out_val=out)
    inputs, outputs = [], []
    encoded = encode(args, inputs)
    encode(out, outputs)
    cases.append({"packet": packet, "args": encoded, "inputs": inputs, "outputs": outputs, "flops": flops})
packets = sorted(k.__name__ for k in flop_registry if isinstance(k, torch._ops.OpOverloadPacket))
body = ",\n".join("    " + json.dumps(case) for case in cases)
print(f'{{\n  "torch": "{torch.__version__}",\n  "packets": {json.dumps(packets)},\n  "cases": [\n{body}\n  ]\n}}')
