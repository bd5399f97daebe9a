"""Prints lines for a terminal, with names escaped."""


def tell(text, file=None):
    """Prints `text`. Control characters, text direction marks and lone surrogates are escaped, since names come from the
    user's model or from a file.
    """
    print(displayed(str(text)), file=file)


def displayed(text):
    """
    >>> displayed("layer\\x1b[2J")
    'layer\\\\x1b[2J'
    """
    return "".join(character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text)
