"""Lines for a terminal, in which names stay names."""


def tell(text, file=None):
    """Prints `text`. Control characters, marks for text direction and halves of characters are written out, since names come from somebody's model or file."""
    print(displayed(str(text)), file=file)


def displayed(text):
    """
    >>> displayed("layer\\x1b[2J")
    'layer\\\\x1b[2J'
    """
    return "".join(character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text)
