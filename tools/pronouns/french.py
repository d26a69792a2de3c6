"""As much French and English grammar as the sentences of tools/make-pronouns need."""

VOWELS = "aeiouyhâàéèêîôûœ"  # an h is mute unless the lexicon says otherwise
PERSONS = ("je", "tu", "il", "nous", "vous", "ils")
VERBS = {  # present and imperfect of the verbs that others lean on
    "avoir": ("ai as a avons avez ont", "avais avais avait avions aviez avaient"),
    "vouloir": ("veux veux veut voulons voulez veulent", "voulais voulais voulait voulions vouliez voulaient"),
    "pouvoir": ("peux peux peut pouvons pouvez peuvent", "pouvais pouvais pouvait pouvions pouviez pouvaient"),
    "être": ("suis es est sommes êtes sont", "étais étais était étions étiez étaient"),
}


def verb(infinitive, tense, person):
    return VERBS[infinitive][0 if tense == "present" else 1].split()[person]


def begins_with_vowel(text, aspirated=()):
    first = text.split(" ")[0]
    return text[:1].lower() in VOWELS and first.rstrip("s") not in aspirated


def elided(word, following, aspirated=()):
    """de, ne, que, je before a vowel: d', n', qu', j'."""
    return f"{word[:-1]}'{following}" if begins_with_vowel(following, aspirated) else f"{word} {following}"


def english_plural(word):
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "ch", "sh")) or word in ("tomato",):
        return word + "es"
    return word + "s"


def french_plural(word):
    if "-" in word:
        return "-".join(french_plural(part) for part in word.split("-"))
    if word[-1] in "sxz":
        return word
    if word.endswith("al") and word not in ("bancal",):
        return word[:-2] + "aux"
    if word.endswith(("eau", "eu")) and word != "bleu":
        return word + "x"
    return word + "s"


def agreed(masculine, feminine, gender, plural):
    """An adjective, or several words of which the last one agrees."""
    form = feminine if gender == "f" else masculine
    if not plural:
        return form
    *before, last = form.split(" ")
    return " ".join([*before, french_plural(last)])


def participle(masculine, gender, plural):
    return masculine + ("e" if gender == "f" else "") + ("s" if plural and not masculine.endswith("s") else "")


def perfect_with_etre(infinitive, masculine, gender, plural, positive):
    """"est entrée", "n'est pas entrée", "ne s'est pas cachée": il, elle, ils or elles did it, or did not."""
    be = verb("être", "present", 5 if plural else 2)
    if infinitive.startswith("se "):
        be = elided("se", be)
    refused = "" if positive else " pas"
    said = be if positive else elided("ne", be)
    return f"{said}{refused} {participle(masculine, gender, plural)}"


def article(kind, noun, gender, plural, aspirated):
    """The noun phrase with "the", "my", "this" or "our"."""
    vowel = begins_with_vowel(noun, aspirated)
    if kind == "the":
        if plural:
            return f"les {noun}"
        return f"l'{noun}" if vowel else f"{'la' if gender == 'f' else 'le'} {noun}"
    if kind == "my":
        return f"{'mes' if plural else 'ma' if gender == 'f' and not vowel else 'mon'} {noun}"
    if kind == "this":
        return f"{'ces' if plural else 'cette' if gender == 'f' else 'cet' if vowel else 'ce'} {noun}"
    return f"{'nos' if plural else 'notre'} {noun}"


def after(preposition, phrase):
    """de + le = du, à + les = aux; prepositions of several words end in one of these too."""
    head, last = preposition.rpartition(" ")[::2]
    head = head + " " if head else ""
    if last in ("de", "à"):
        for begin, contracted in (("le ", {"de": "du", "à": "au"}), ("les ", {"de": "des", "à": "aux"})):
            if phrase.startswith(begin):
                return f"{head}{contracted[last]} {phrase[len(begin):]}"
    return f"{preposition} {phrase}"


def pronoun(gender, plural):
    return ("elle" if gender == "f" else "il") + ("s" if plural else "")
