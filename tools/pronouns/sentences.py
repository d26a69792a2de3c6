"""Puts a frame, two nouns and an adjective together, in English and in French."""

import collections

from . import frames, french, lexicon, more_words

Noun = collections.namedtuple("Noun", "english plural french gender tags")
Adjective = collections.namedtuple("Adjective", "english masculine feminine tags kind")
Choice = collections.namedtuple("Choice", "frame first second adjective antecedent")  # antecedent: 0 or 1
Sentence = collections.namedtuple("Sentence", "english french pronoun antecedent distractor gender same_gender same_number")

MARKS = "\ue000\ue001\ue002"  # before the first noun, the second noun and the pronoun, while a sentence is put together
ASPIRATED = set()


INVITING = lexicon.INVITING | more_words.INVITING


def nouns(table=lexicon.NOUNS):
    found = []
    for line in table.strip().split("\n"):
        english, word, gender, *tags = line.split()
        english, _, plural = english.partition("/")
        if word.endswith("*"):
            word = word[:-1]
            ASPIRATED.add(word)
        found.append(Noun(english, plural or french.english_plural(english), word, gender, frozenset(tags)))
    return found


def adjectives(table=lexicon.ADJECTIVES):
    found = []
    for line in table.strip().split("\n"):
        english, masculine, feminine, tags, kind = (cell.strip() for cell in line.split("|"))
        found.append(Adjective(english, masculine, feminine, frozenset(tags.split()), kind))
    return found


class Phrase:
    """A noun with its article, perhaps an attribute, and its number; the same in both languages."""

    def __init__(self, dice, noun, plural, mark, plain):
        self.noun, self.plural, self.mark = noun, plural, mark
        self.article = "the" if plain else dice.choices(("the", "my", "this", "our"), (76, 9, 9, 6))[0]
        fitting = [entry for entry in lexicon.ATTRIBUTES if noun.tags & frozenset(entry[3].split())]
        self.attribute = dice.choice(fitting) if fitting and not plain and dice.random() < 0.16 else None

    def english(self):
        words = [{"this": "these"}.get(self.article, self.article) if self.plural else self.article]
        if self.attribute:
            words.append(self.attribute[0])
        words.append(self.mark + (self.noun.plural if self.plural else self.noun.english))
        return " ".join(words)

    def french(self):
        word = french.french_plural(self.noun.french) if self.plural else self.noun.french
        if self.attribute:
            form = french.agreed(self.attribute[1], self.attribute[2], self.noun.gender, self.plural)
            if self.attribute[4]:
                word = f"{word} {form}"
            else:
                if not self.plural and french.begins_with_vowel(word, ASPIRATED):
                    form = lexicon.BEFORE_VOWEL.get(form, form)
                word = f"{form} {word}"
        return french.article(self.article, word, self.noun.gender, self.plural, ASPIRATED)


class Writer:
    def __init__(self, dice, plain=False, with_etre=False):
        """plain: "the" and nothing between, as in a test of one thing; with_etre: "n'est pas entré" too, which the test lacks."""
        self.dice, self.plain, self.with_etre = dice, plain, with_etre

    def write(self, choice, plural):
        """plural: of the first noun and of the second."""
        phrases = [Phrase(self.dice, noun, number, MARKS[i], self.plain)
                   for i, (noun, number) in enumerate(zip((choice.first, choice.second), plural))]
        if isinstance(choice.frame, frames.Reason):
            english, fr, tense = self.reason(choice.frame, phrases)
        elif choice.frame in frames.ACTIONS:
            english, fr, tense = self.action(choice.frame, phrases, inviting(choice))
        elif choice.frame in frames.HANDLINGS:
            english, fr, tense = self.handling(choice.frame, phrases, inviting(choice))
        else:
            english, fr, tense = self.place(choice.frame, phrases)
        english, fr = self.surroundings(choice, self.contracted(english), fr)
        about = phrases[choice.antecedent]
        said = self.said(choice.adjective, about, tense)
        statement = choice.frame in frames.PLACES
        return self.finish(choice, phrases, *self.joined(statement, (english, fr), said))

    def action(self, deed, phrases, positive):
        first, second = phrases
        if deed.done and self.dice.random() < 0.15:
            return self.passive(deed, first, second, positive)
        person = 5 if first.plural else 2
        ways = ["wanted"] if positive else ["wanted", "could", "refused", "wants", "can"]
        needs_etre = deed.participe.startswith("+")
        if deed.participe and (self.with_etre or not needs_etre):
            ways += ["did"] * (2 if positive else 4)
        way = self.dice.choice(ways)
        english, fr, tense = conjugated(way, deed, person, positive)
        if way == "did" and needs_etre:
            fr = french.perfect_with_etre(deed.french, deed.participe[1:], first.noun.gender, first.plural, positive)
        into = f" {deed.into}" if deed.into else ""
        place = french.after(deed.dans, second.french()) if deed.dans else second.french()
        return f"{first.english()} {english}{into} {second.english()}", f"{first.french()} {fr} {place}", tense

    def passive(self, deed, first, second, positive):
        was = "were" if second.plural else "was"
        done = french.participle(deed.participe, second.noun.gender, second.plural)
        have = french.verb("avoir", "present", 5 if second.plural else 2)
        middle = f"{have} été {done}" if positive else f"n'{have} pas été {done}"
        english = f"{second.english()} {was}{'' if positive else ' not'} {deed.done} by {first.english()}"
        return english, f"{second.french()} {middle} par {first.french()}", "past"

    def handling(self, deed, phrases, positive):
        who, qui, person = self.dice.choice(lexicon.SUBJECTS)
        ways = ["did", "did", "wanted"] if positive else ["did", "did", "could", "wanted"]
        english, fr, tense = conjugated(self.dice.choice(ways), deed, person, positive)
        fr = french.elided(qui, fr) if qui == "je" else f"{qui} {fr}"
        first, second = phrases
        return (f"{who} {english} {first.english()} {deed.into} {second.english()}",
                f"{fr} {first.french()} {french.after(deed.dans, second.french())}", tense)

    def place(self, deed, phrases):
        first, second = phrases
        tense = self.dice.choice(("present", "past"))
        be = ("are" if first.plural else "is") if tense == "present" else ("were" if first.plural else "was")
        est = french.verb("être", tense, 5 if first.plural else 2)
        return (f"{first.english()} {be} {deed.into} {second.english()}",
                f"{first.french()} {est} {french.after(deed.dans, second.french())}", tense)

    def reason(self, frame, phrases):
        first, second = phrases
        english, fr = frame.english, frame.french
        for text in ("{doesn't|don't}", "{rentre|rentrent}", "{rentrait|rentraient}", "{peut|peuvent}", "{a|ont}", "{n'a|n'ont}"):
            chosen = text[1:-1].split("|")[first.plural]
            english, fr = english.replace(text, chosen), fr.replace(text, chosen)
        for preposition in ("dans", "par", "au lieu de"):
            fr = fr.replace("{" + preposition + " B}", french.after(preposition, second.french()))
        english = english.replace("{A}", first.english()).replace("{B}", second.english())
        fr = fr.replace("{A}", first.french()).replace("{B}", second.french())
        if frame.who != "first":
            who, qui, person = self.dice.choice(lexicon.SUBJECTS)
            have = french.verb("avoir", "present", person)
            middle = f"{have} {fr}" if frame.who == "somebody" else f"n'{have} pas {fr}"
            english = f"{who} {english}"
            fr = french.elided(qui, middle) if qui == "je" and frame.who == "somebody" else f"{qui} {middle}"
        return english, fr, frame.tense

    def surroundings(self, choice, english, fr):
        """A third noun between, which the adjective is not said of; or a time."""
        roll = 1.0 if self.plain else self.dice.random()
        if roll < 0.14 and isinstance(choice.adjective, Adjective) and choice.frame not in frames.PLACES:
            others = [noun for noun in self.third if not noun.tags & choice.adjective.tags and noun not in (choice.first, choice.second)]
            if others:
                there, la = self.dice.choice((("near", "près de"), ("behind", "derrière"), ("in front of", "devant")))
                phrase = Phrase(self.dice, self.dice.choice(others), False, "", True)
                return f"{english} {there} {phrase.english()}", f"{fr} {french.after(la, phrase.french())}"
        if roll > 0.9 and roll < 1.0 and not isinstance(choice.frame, frames.Reason) and " is " not in english and " are " not in english:
            if any(word in english for word in ("doesn't", "don't", "can't", "cannot")):
                return english, fr
            when, quand = self.dice.choice((("yesterday", "hier"), ("this morning", "ce matin"), ("last night", "hier soir")))
            return f"{english} {when}", f"{fr} {quand}"
        return english, fr

    def contracted(self, english):
        if self.dice.random() < 0.7:
            return english
        for short, long in (("can't", "cannot"), ("n't", " not")):
            english = english.replace(short, long)
        return english

    def said(self, adjective, about, tense):
        """"it was too tired", "il était trop fatigué"."""
        plural, gender = about.plural, about.noun.gender
        be = {"present": ("is", "are"), "past": ("was", "were")}[tense][plural]
        person = 5 if plural else 2
        who = french.pronoun(gender, plural)
        it = MARKS[2] + ("they" if plural else "it")
        if not isinstance(adjective, Adjective):
            return f"{it} {be} {adjective[0]}", f"{who} {french.verb('être', tense, person)} {french.agreed(adjective[1], adjective[2], gender, plural)}"
        too = 0 if adjective.english in INVITING else 5
        degree = self.dice.choices((("too ", "trop "), ("very ", "très "), ("", "")), (too, 2, 3))[0]
        if adjective.kind == ".":
            degree = ("", "")
        if adjective.kind == "a":
            return f"{it} {be} {degree[0]}{adjective.english}", f"{who} {french.verb('avoir', tense, person)} {degree[1]}{adjective.masculine}"
        form = french.agreed(adjective.masculine, adjective.feminine, gender, plural)
        return f"{it} {be} {degree[0]}{adjective.english}", f"{who} {french.verb('être', tense, person)} {degree[1]}{form}"

    def joined(self, statement, clause, said):
        (english, fr), (it, il) = clause, said
        if statement:
            pattern = self.dice.choice((("{}, but {}.", "{}, mais {}."), ("{} and {}.", "{} et {}."), ("{}. {!c}.", "{}. {!c}."),
                                        ("{}; {}.", "{} ; {}.")))
        else:
            pattern = self.dice.choices((("{} because {}.", "{} parce qu'{}."), ("{}, as {}.", "{}, car {}."), ("{}, since {}.", "{}, puisqu'{}."),
                                         ("{}. {!c}.", "{}. {!c}."), ("Because {1}, {0}.", "Parce qu'{1}, {0}."),
                                         ("Since {1}, {0}.", "Comme {1}, {0}.")), (60, 6, 4, 12, 12, 6))[0]
        return filled(pattern[0], english, it), filled(pattern[1], fr, il)

    def finish(self, choice, phrases, english, fr):
        words = capital(english).split(" ")
        places = [next(i for i, word in enumerate(words) if mark in word) for mark in MARKS]
        for mark in MARKS:
            english = english.replace(mark, "")
        antecedent = phrases[choice.antecedent]
        return Sentence(capital(english), capital(fr), places[2], places[choice.antecedent], places[1 - choice.antecedent],
                        antecedent.noun.gender, choice.first.gender == choice.second.gender, phrases[0].plural == phrases[1].plural)

    third = ()


def filled(pattern, clause, said):
    if "{1}" in pattern:
        return pattern.format(clause, said)
    return pattern.replace("{!c}", capital(said).replace("{", "")).replace("{}", "\0", 1).replace("{}", said).replace("\0", clause)


def capital(text):
    at = 1 if text[:1] in MARKS else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


def conjugated(way, deed, person, positive):
    """"didn't cross", "n'a pas traversé"; of a French person, je to ils."""
    third = person == 2
    infinitive = deed.french
    if way == "did":
        have = french.verb("avoir", "present", person)
        if positive:
            return deed.past, f"{have} {deed.participe}", "past"
        return f"didn't {deed.english}", f"n'{have} pas {deed.participe}", "past"
    if way == "wanted":
        want = french.verb("vouloir", "past", person)
        return ((f"wanted to {deed.english}", f"{want} {infinitive}", "past") if positive
                else (f"didn't want to {deed.english}", f"ne {want} pas {infinitive}", "past"))
    if way == "could":
        return f"couldn't {deed.english}", f"n'{french.verb('avoir', 'present', person)} pas pu {infinitive}", "past"
    if way == "refused":
        return f"refused to {deed.english}", f"{french.verb('avoir', 'present', person)} refusé {french.elided('de', infinitive)}", "past"
    if way == "wants":
        return f"{'doesn' if third else 'don'}'t want to {deed.english}", f"ne {french.verb('vouloir', 'present', person)} pas {infinitive}", "present"
    return f"can't {deed.english}", f"ne {french.verb('pouvoir', 'present', person)} pas {infinitive}", "present"


def inviting(choice):
    return (choice.adjective.english in INVITING) != (choice.frame.name in frames.REPELLED)
