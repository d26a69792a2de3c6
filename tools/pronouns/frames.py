"""What the sentences of tools/make-pronouns say.

A frame has two nouns, A and B. In most of them the adjective decides which of the two it is about, since it can be said of
one only; in the last group it is what the sentence tells: what is too big does not fit, what is too small does not hold.
"""

import collections

from . import lexicon

# english base, past, participle; french infinitive, participle (after "+", one that needs être); prepositions of B.
Deed = collections.namedtuple("Deed", "name first second english past done french participe into dans")


def deeds(table):
    rows = []
    for line in table.strip().split("\n"):
        cells = [cell.strip() for cell in line.split("|")]
        rows.append(Deed(cells[0], cells[1].split(), cells[2].split(), *cells[3:10]))
    return rows


# A does something, or does not, to B.
ACTIONS = deeds("""
cross   | animal person | way water             | cross     | crossed     | crossed   | traverser      | traversé |      |
follow  | animal person | way vehicle           | follow    | followed    | followed  | suivre         | suivi    |      |
eat     | animal person | food fruit            | eat       | ate         | eaten     | manger         | mangé    |      |
drink   | animal person | drink                 | drink     | drank       | drunk     | boire          | bu       |      |
avoid   | animal person | way water building    | avoid     | avoided     | avoided   | éviter         | évité    |      |
leave   | animal person | room building garden  | leave     | left        | left      | quitter        | quitté   |      |
enter   | animal person | room building         | go        | went        |           | entrer         | +entré   | into | dans
climb   | small         | plant barrier furniture | climb   | climbed     |           | grimper        | grimpé   | onto | sur
swim    | animal person | water                 | swim      | swam        |           | nager          | nagé     | in   | dans
sleep   | small person  | furniture             | sleep     | slept       |           | dormir         | dormi    | on   | sur
rest    | small person  | room garden | stay      | stayed      |           | rester         | +resté   | in   | dans
hide    | animal person | plant barrier furniture | hide    | hid         |           | se cacher      | +caché   | behind | derrière
touch   | animal person | obj plant instrument tool | touch | touched     | touched   | toucher        | touché   |      |
push    | big person    | furniture vehicle barrier | push  | pushed      | pushed    | pousser        | poussé   |      |
swallow | animal        | fruit food            | swallow   | swallowed   | swallowed | avaler         | avalé    |      |
use     | person        | machine vehicle tool furniture | use | used     | used      | utiliser       | utilisé  |      |
read    | person        | doc                   | read      | read        | read      | lire           | lu       |      |
repair  | person        | machine vehicle furniture | repair | repaired   | repaired  | réparer        | réparé   |      |
wear    | person        | clothes               | wear      | wore        | worn      | porter         | porté    |      |
watch   | person        | show                  | watch     | watched     | watched   | regarder       | regardé  |      |
jump    | animal person | barrier water         | jump      | jumped      |           | sauter         | sauté    | over | par-dessus
carry   | animal person | container obj furniture doc | carry | carried   | carried   | transporter    | transporté |    |
""")

REPELLED = ("avoid", "leave", "throw", "take-out")  # done for the reasons for which others are not

# Somebody does something with A, in, on, behind … B.
HANDLINGS = deeds("""
put-in   | obj clothes doc food fruit tool | container cabin | put    | put     |  | mettre  | mis     | in        | dans
put-on   | obj doc container food fruit drink | furniture | put    | put     |  | poser   | posé    | on        | sur
take-out | obj clothes doc tool            | container    | take   | took    |  | sortir  | sorti   | out of    | de
leave-in | obj container clothes doc tool  | room cabin building | leave | left |  | laisser | laissé  | in        | dans
leave-by | vehicle container obj           | water plant barrier building | leave | left |  | laisser | laissé | near | près de
hide-behind | obj container doc tool vehicle | plant barrier furniture | hide | hid |  | cacher  | caché   | behind    | derrière
wash     | clothes fruit                   | water | wash | washed  |  | laver   | lavé    | in        | dans
cut      | food fruit plant                | blade        | cut    | cut     |  | couper  | coupé   | with      | avec
open     | container opening               | key tool     | open   | opened  |  | ouvrir  | ouvert  | with      | avec
move     | furniture container machine instrument | room cabin building | move | moved |  | transporter | transporté | into | dans
throw    | fruit obj doc food              | container water | throw | threw |  | jeter   | jeté    | into      | dans
tie      | animal                          | plant barrier | tie | tied |  | attacher | attaché | to    | à
read-in  | doc                             | room garden | read | read  |  | lire    | lu      | in        | dans
play     | instrument                      | room building | try    | tried   |  | essayer | essayé  | in        | dans
""")

# A is somewhere near B.
PLACES = deeds("""
is-in     | obj clothes doc food fruit tool small | container room cabin | | | | | | in          | dans
is-on     | obj doc food fruit drink portable small | furniture  | | | | | | on          | sur
is-under  | obj clothes small tool doc            | furniture plant       | | | | | | under       | sous
is-behind | vehicle animal plant container furniture | building barrier plant furniture | | | | | | behind | derrière
is-near   | animal vehicle building plant furniture | way water building barrier plant | | | | | | near | près de
is-beside | furniture machine instrument obj clothes | barrier furniture plant container machine | | | | | | next to | à côté de
is-before | vehicle animal person                  | building barrier way  | | | | | | in front of | devant
""")

# Somebody does something with A and B, and one list is said of A, the other of B. "en" and "fr": {A} and {B} are phrases.
Reason = collections.namedtuple("Reason", "name first second same of_first of_second english french tense who")
GOODS = "obj clothes furniture machine vehicle instrument tool container doc".split()
REASONS = [
    Reason("fit", "obj clothes doc furniture instrument machine".split(), "container cabin".split(), False, lexicon.BIG, lexicon.SMALL,
           "{A} {doesn't|don't} fit in {B}", "{A} ne {rentre|rentrent} pas {dans B}", "present", "first"),
    Reason("fit-past", "obj clothes doc furniture instrument machine".split(), "container cabin".split(), False, lexicon.BIG,
           lexicon.SMALL, "{A} didn't fit into {B}", "{A} ne {rentrait|rentraient} pas {dans B}", "past", "first"),
    Reason("hold", "container cabin".split(), "obj clothes doc furniture instrument".split(), False, lexicon.SMALL, lexicon.BIG,
           "{A} can't hold {B}", "{A} ne {peut|peuvent} pas contenir {B}", "present", "first"),
    Reason("instead", GOODS, GOODS, True, lexicon.CHOSEN, lexicon.REJECTED, "bought {A} instead of {B}", "acheté {A} {au lieu de B}",
           "past", "somebody"),
    Reason("choose", GOODS, GOODS, True, lexicon.CHOSEN, lexicon.REJECTED, "took {A} and not {B}",
           "pris {A} et non {B}", "past", "somebody"),
    Reason("replace", GOODS, GOODS, True, lexicon.REJECTED, lexicon.CHOSEN, "replaced {A} with {B}",
           "remplacé {A} {par B}", "past", "somebody"),
    Reason("break", "obj tool".split(), "breakable furniture opening".split(), False, lexicon.STRONG, lexicon.DELICATE, "{A} broke {B}",
           "{A} {a|ont} cassé {B}", "past", "first"),
    Reason("catch", ["animal"], ["animal"], True, lexicon.FASTER, lexicon.SLOWER, "{A} caught {B}",
           "{A} {a|ont} attrapé {B}", "past", "first"),
    Reason("escape", ["animal"], ["animal"], True, lexicon.SLOWER, lexicon.FASTER, "{A} couldn't catch {B}",
           "{A} {n'a|n'ont} pas pu attraper {B}", "past", "first"),
    Reason("overtake", ["vehicle"], ["vehicle"], True, lexicon.FASTER[:1] + lexicon.FASTER[2:], lexicon.SLOWER[:2],
           "{A} overtook {B}", "{A} {a|ont} dépassé {B}", "past", "first"),
    Reason("reach", ["small"], ["high"], False,
           [("too small", "trop petit", "trop petite"), ("too short", "trop petit", "trop petite"), ("too weak", "trop faible", "trop faible")],
           [("too high", "trop haut", "trop haute"), ("high", "haut", "haute")],
           "{A} couldn't reach {B}", "{A} {n'a|n'ont} pas pu atteindre {B}", "past", "first"),
    Reason("through", "furniture machine instrument container".split(), ["opening"], False, lexicon.BIG, lexicon.SMALL[:3],
           "couldn't get {A} through {B}", "pu faire passer {A} {par B}", "past", "nobody"),
]
HELD_OUT_FRAMES = ("jump", "carry", "through")
