"""Reads pickles of plain data: numbers, texts, lists, tuples and dicts. Nothing is imported or called, whatever the pickle
contains.
"""

from __future__ import annotations

import os
import stat
import struct

# Snapshots do not nest deeper: those of the allocator have five levels.
_MOST_DEPTH = 50


class PickleRefused(ValueError):
    """A pickle is damaged, or contains more than plain data."""


def read_regular_file(path):
    """Returns the bytes of a regular file. Raises `PickleRefused` for a device, a pipe or a folder, without blocking.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PickleRefused("not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def load_plain(data):
    """Returns the content of a pickle.

    Each opcode takes constant time, or time proportional to its bytes. Lengths are compared with the bytes that are
    left. Keys of dicts must be texts or numbers, since hashing shared tuples can take exponential time.
    """
    try:
        return _load(data)
    except (LookupError, struct.error, UnicodeDecodeError) as error:
        raise PickleRefused(f"damaged ({error or type(error).__name__})") from None


def _load(data):
    end, at = len(data), 0
    stack, marks, memo = [], [], {}
    depths = {}

    def part(length):
        nonlocal at
        if length > end - at:
            raise PickleRefused(f"damaged: {length} bytes needed at {at}, but {end - at} are left")
        at += length
        return data[at - length : at]

    def line():
        nonlocal at
        stop = data.find(b"\n", at, at + 32)
        if stop < 0:
            raise PickleRefused(f"damaged: a number at {at} has no end")
        found, at = data[at:stop], stop + 1
        return found

    def nest(holder, items):
        depth = 1 + max((depths.get(id(item), 0) for item in items), default=0)
        if depth > _MOST_DEPTH:
            raise PickleRefused(f"nested deeper than {_MOST_DEPTH} levels, unlike any snapshot")
        if depth > depths.get(id(holder), 0):
            depths[id(holder)] = depth

    def set_items(target, items):
        if type(target) is not dict or len(items) % 2:
            raise PickleRefused("damaged: items for something that is not a dict")
        for i in range(0, len(items), 2):
            if type(items[i]) not in (str, int):
                raise PickleRefused(f"a dict with a key of type {type(items[i]).__name__}, expected str")
            target[items[i]] = items[i + 1]
        nest(target, items[1::2])

    def append(target, items):
        if type(target) is not list:
            raise PickleRefused("damaged: items for something that is not a list")
        target.extend(items)
        nest(target, items)

    def popped():
        start = marks.pop()
        if start > len(stack):
            raise PickleRefused("damaged: a mark without its items")
        items = stack[start:]
        del stack[start:]
        return items

    def grouped(items):
        made = tuple(items)
        nest(made, made)
        kept.append(made)
        return made

    # Keeps containers alive while their depths are stored by their ids.
    kept = []
    while True:
        op = data[at]
        at += 1
        if op in b"hjg":  # BINGET, LONG_BINGET, GET
            stack.append(memo[_index(data, at, op) if op != 0x67 else _whole(line())])
            at += {0x68: 1, 0x6A: 4}.get(op, 0)
        elif op == 0x94:  # MEMOIZE
            memo[len(memo)] = stack[-1]
        elif op in b"qr":  # BINPUT, LONG_BINPUT
            memo[_index(data, at, op)] = stack[-1]
            at += 1 if op == 0x71 else 4
        elif op == 0x70:  # PUT
            memo[_whole(line())] = stack[-1]
        elif op == 0x4B:  # BININT1
            stack.append(data[at])
            at += 1
        elif op == 0x4D:  # BININT2
            stack.append(int.from_bytes(part(2), "little"))
        elif op == 0x4A:  # BININT
            stack.append(int.from_bytes(part(4), "little", signed=True))
        elif op == 0x8A:  # LONG1: addresses have nine bytes.
            length = data[at]
            at += 1
            if length > 16:
                raise PickleRefused(f"a number of {length} bytes, expected at most 16")
            stack.append(int.from_bytes(part(length), "little", signed=True))
        elif op == 0x8C:  # SHORT_BINUNICODE
            length = data[at]
            at += 1
            stack.append(part(length).decode("utf-8", "surrogatepass"))
        elif op == 0x58:  # BINUNICODE
            stack.append(part(struct.unpack("<I", part(4))[0]).decode("utf-8", "surrogatepass"))
        elif op == 0x8D:  # BINUNICODE8
            stack.append(part(struct.unpack("<Q", part(8))[0]).decode("utf-8", "surrogatepass"))
        elif op == 0x47:  # BINFLOAT
            stack.append(struct.unpack(">d", part(8))[0])
        elif op == 0x28:  # MARK
            marks.append(len(stack))
        elif op == 0x75:  # SETITEMS
            items = popped()
            set_items(stack[-1], items)
        elif op == 0x73:  # SETITEM
            items = [stack.pop(-2), stack.pop()]
            set_items(stack[-1], items)
        elif op == 0x65:  # APPENDS
            items = popped()
            append(stack[-1], items)
        elif op == 0x61:  # APPEND
            item = stack.pop()
            append(stack[-1], [item])
        elif op == 0x7D:  # EMPTY_DICT
            stack.append({})
            kept.append(stack[-1])
        elif op == 0x5D:  # EMPTY_LIST
            stack.append([])
            kept.append(stack[-1])
        elif op == 0x29:  # EMPTY_TUPLE
            stack.append(())
        elif 0x85 <= op <= 0x87:  # TUPLE1, TUPLE2, TUPLE3
            count = op - 0x84
            if len(stack) < count:
                raise PickleRefused("damaged: a tuple without its items")
            items = stack[-count:]
            del stack[-count:]
            stack.append(grouped(items))
        elif op == 0x74:  # TUPLE
            stack.append(grouped(popped()))
        elif op == 0x4E:  # NONE
            stack.append(None)
        elif op == 0x88 or op == 0x89:  # NEWTRUE, NEWFALSE
            stack.append(op == 0x88)
        elif op == 0x95:  # FRAME
            struct.unpack("<Q", part(8))
        elif op == 0x80:  # PROTO
            if data[at] > 5:
                raise PickleRefused(f"pickle protocol {data[at]} is not supported, only up to 5")
            at += 1
        elif op == 0x2E:  # STOP
            if len(stack) != 1 or marks:
                raise PickleRefused("damaged: it ends in the middle")
            return stack[0]
        elif op in b"ci\x93\x82\x83\x84R\x81\x92ob":
            raise PickleRefused(
                "it would run code, but a snapshot holds plain data only. Do not open it with pickle.load"
            )
        else:
            raise PickleRefused(f"it has the opcode {op:#04x} at {at - 1}, which plain data does not use")


def _index(data, at, op):
    return data[at] if op in b"hq" else struct.unpack_from("<I", data, at)[0]


def _whole(text):
    if not text.isdigit():
        raise PickleRefused("damaged: expected a number")
    return int(text)
