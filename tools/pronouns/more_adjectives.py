"""More adjectives for the training sentences of tools/make-pronouns; the test has none of them. Same form as in lexicon.py.

Of all held-out words adjectives were the hardest: whoever knows only a hundred learns them one by one, and not what an adjective
can be said of.
"""

ADJECTIVES = """
bored | las | lasse | animal person | +
calm | calme | calme | animal person water | +
gentle | doux | douce | animal person | +
naughty | désobéissant | désobéissante | animal person | +
cruel | cruel | cruelle | animal person | +
wild | sauvage | sauvage | animal plant | +
hurried | pressé | pressée | animal person | +
distracted | distrait | distraite | animal person | +
suspicious | méfiant | méfiante | animal person | +
desperate | désespéré | désespérée | animal person | +
determined | déterminé | déterminée | animal person | +
confident | confiant | confiante | animal person | +
lonely | solitaire | solitaire | animal person | +
crazy | fou | folle | animal person | +
stupid | bête | bête | animal person | +
intelligent | intelligent | intelligente | animal person | +
clever | malin | maligne | animal person | +
cunning | rusé | rusée | animal person | +
agile | agile | agile | animal person | +
fat | gras | grasse | animal food | +
elderly | âgé | âgée | animal person | +
pale | pâle | pâle | person | +
feverish | fiévreux | fiévreuse | animal person | +
limping | boiteux | boiteuse | animal person | .
numb | engourdi | engourdie | animal person | +
starving | affamé | affamée | animal person | .
famished | affamé | affamée | animal person | .
breathless | essoufflé | essoufflée | animal person | +
moody | lunatique | lunatique | animal person | +
rude | grossier | grossière | person | +
honest | honnête | honnête | person | +
stingy | avare | avare | person | +
rich | riche | riche | person | +
famous | célèbre | célèbre | person | +
patient | patient | patiente | animal person | +
silent | silencieux | silencieuse | animal person | +
quiet | tranquille | tranquille | animal person | +
frail | frêle | frêle | animal person plant | +
hostile | hostile | hostile | animal person | +
friendly | sociable | sociable | animal person | +
affectionate | affectueux | affectueuse | animal person | +
restless | agité | agitée | animal person | +
ungrateful | ingrat | ingrate | animal person | +
upset | contrarié | contrariée | animal person | +
disappointed | déçu | déçue | animal person | +
embarrassed | gêné | gênée | person | +
ashamed | honteux | honteuse | animal person | +
surprised | surpris | surprise | animal person | +
astonished | étonné | étonnée | animal person | .
confused | confus | confuse | animal person | +
trapped | piégé | piégée | animal person | .
chained | enchaîné | enchaînée | animal person | .
naked | nu | nue | person | .
bald | chauve | chauve | person | .
tall | grand | grande | person plant high | +
trained | dressé | dressée | animal | .
hunted | traqué | traquée | animal person | .
timid | craintif | craintive | animal person | +
fearful | peureux | peureuse | animal person | +
fearless | intrépide | intrépide | animal person | .
bold | audacieux | audacieuse | animal person | +
reckless | imprudent | imprudente | animal person | +
merry | gai | gaie | animal person | +
cheerful | joyeux | joyeuse | animal person | +
gloomy | morose | morose | animal person | +
dying | mourant | mourante | animal person plant | .
alive | vivant | vivante | animal person plant | .
unconscious | inconscient | inconsciente | animal person | .
awake | éveillé | éveillée | animal person | .
naive | naïf | naïve | person animal | +
discreet | discret | discrète | person animal | +
mischievous | espiègle | espiègle | person animal | +
vain | vaniteux | vaniteuse | person animal | +
nosy | indiscret | indiscrète | person | +
sleepless | insomniaque | insomniaque | person | .
unhappy | malheureux | malheureuse | animal person | +
straight | droit | droite | way | +
uneven | inégal | inégale | way | +
rocky | rocailleux | rocailleuse | way garden | +
sandy | sablonneux | sablonneuse | way garden | +
impassable | impraticable | impraticable | way | .
unlit | obscur | obscure | way | +
jammed | coincé | coincée | machine barrier opening | .
congested | embouteillé | embouteillée | way | +
foggy | brumeux | brumeuse | way garden | +
grassy | herbeux | herbeuse | way garden | +
stony | pierreux | pierreuse | way garden | +
turbulent | tumultueux | tumultueuse | water | +
clear | limpide | limpide | water drink | +
dried up | asséché | asséchée | water | .
stagnant | stagnant | stagnante | water | .
rough | houleux | houleuse | water | +
lukewarm | tiède | tiède | water drink food | +
glacial | glacial | glaciale | water room | .
toxic | toxique | toxique | water food drink plant | +
contaminated | contaminé | contaminée | water food drink | .
salted | salé | salée | food | .
crunchy | croquant | croquante | food fruit | +
crispy | croustillant | croustillante | food | +
tender | tendre | tendre | food | +
tough | coriace | coriace | food | +
creamy | onctueux | onctueuse | food drink | +
sticky | collant | collante | food clothes furniture | +
soft | mou | molle | food fruit | +
tasteless | insipide | insipide | food drink fruit | +
disgusting | dégoûtant | dégoûtante | food drink | .
appetizing | appétissant | appétissante | food fruit | +
nourishing | nourrissant | nourrissante | food | +
healthy | sain | saine | food fruit | +
indigestible | indigeste | indigeste | food | .
stuffed | farci | farcie | food | .
grilled | grillé | grillée | food | .
fried | frit | frite | food | .
boiled | bouilli | bouillie | food | .
smoked | fumé | fumée | food | .
grated | râpé | râpée | food | .
melted | fondu | fondue | food | .
peppery | poivré | poivrée | food | +
fermented | fermenté | fermentée | food drink | .
diluted | dilué | diluée | drink | .
organic | biologique | biologique | food fruit | .
exotic | exotique | exotique | fruit food plant | +
rancid | rance | rance | food | .
burning | brûlant | brûlante | food drink | .
refreshing | rafraîchissant | rafraîchissante | drink fruit | +
alcoholic | alcoolisé | alcoolisée | drink | .
furnished | meublé | meublée | room building | .
stuffy | étouffant | étouffante | room | +
smoky | enfumé | enfumée | room | +
cozy | douillet | douillette | room | +
luxurious | luxueux | luxueuse | room building vehicle | +
demolished | démoli | démolie | building barrier | .
renovated | rénové | rénovée | building room | .
unfinished | inachevé | inachevée | building doc | .
guarded | gardé | gardée | building room barrier | .
painted | peint | peinte | building barrier furniture room | .
soundproof | insonorisé | insonorisée | room | .
watertight | étanche | étanche | container | .
sturdy | robuste | robuste | furniture container vehicle tool | +
labeled | étiqueté | étiquetée | container | .
transparent | transparent | transparente | container breakable | +
round | rond | ronde | furniture container obj | +
square | carré | carrée | furniture container room | .
hollow | creux | creuse | container plant | .
blooming | fleuri | fleurie | garden plant | .
fenced | clôturé | clôturée | garden | .
neglected | négligé | négligée | garden building | .
arid | aride | aride | garden | +
fertile | fertile | fertile | garden | +
insured | assuré | assurée | vehicle building | .
overturned | renversé | renversée | vehicle furniture container | .
wrecked | accidenté | accidentée | vehicle | .
electric | électrique | électrique | vehicle machine | .
automatic | automatique | automatique | machine opening | .
obsolete | obsolète | obsolète | machine | .
outdated | démodé | démodée | clothes machine furniture | +
powerful | puissant | puissante | machine vehicle | +
rented | loué | louée | vehicle room building machine | .
sold | vendu | vendue | vehicle building furniture instrument | .
polluting | polluant | polluante | vehicle machine | +
economical | économique | économique | vehicle machine | +
uncomfortable | inconfortable | inconfortable | furniture clothes vehicle room | +
plugged in | branché | branchée | machine device | .
deafening | assourdissant | assourdissante | machine event instrument | .
sophisticated | perfectionné | perfectionnée | machine | +
dented | cabossé | cabossée | vehicle container | .
unstable | instable | instable | furniture vehicle | +
armored | blindé | blindée | vehicle opening | .
waxed | ciré | cirée | furniture | .
antique | ancien | ancienne | furniture building instrument obj | .
adjustable | réglable | réglable | furniture machine | .
carved | sculpté | sculptée | furniture barrier | .
metallic | métallique | métallique | furniture tool container | .
elegant | élégant | élégante | clothes | +
sewn | cousu | cousue | clothes | .
dyed | teint | teinte | clothes | .
embroidered | brodé | brodée | clothes | .
striped | rayé | rayée | clothes | .
crumpled | froissé | froissée | clothes doc | .
silky | soyeux | soyeuse | clothes | +
unbuttoned | déboutonné | déboutonnée | clothes | .
long | long | longue | way doc event | +
short | court | courte | way doc event | +
anonymous | anonyme | anonyme | doc | .
translated | traduit | traduite | doc | .
published | publié | publiée | doc | .
banned | interdit | interdite | doc event | .
censored | censuré | censurée | doc event | .
false | faux | fausse | doc | .
instructive | instructif | instructive | doc event | +
captivating | captivant | captivante | doc event | +
scary | effrayant | effrayante | doc event | +
absurd | absurde | absurde | doc event | +
incomprehensible | incompréhensible | incompréhensible | doc | .
unpublished | inédit | inédite | doc | .
blank | vierge | vierge | doc | .
folded | plié | pliée | doc clothes | .
official | officiel | officielle | doc event | .
detailed | détaillé | détaillée | doc | +
brief | bref | brève | doc event | +
free | gratuit | gratuite | event doc | .
improvised | improvisé | improvisée | event | .
spectacular | spectaculaire | spectaculaire | event | +
successful | réussi | réussie | event | +
interrupted | interrompu | interrompue | event | .
televised | télévisé | télévisée | event | .
private | privé | privée | event building way garden | .
compulsory | obligatoire | obligatoire | event | .
disastrous | désastreux | désastreuse | event | .
popular | populaire | populaire | event doc | +
ajar | entrouvert | entrouverte | opening | .
electrified | électrifié | électrifiée | barrier | .
collapsed | effondré | effondrée | barrier building | .
reinforced | renforcé | renforcée | barrier opening | .
crumbling | délabré | délabrée | building barrier | +
insurmountable | infranchissable | infranchissable | barrier way water | .
solid | solide | solide | barrier furniture tool | +
poisonous | vénéneux | vénéneuse | plant | +
uprooted | déraciné | déracinée | plant | .
pruned | taillé | taillée | plant | .
bushy | touffu | touffue | plant | +
bare | dénudé | dénudée | plant | .
rare | rare | rare | plant obj doc | +
magnificent | magnifique | magnifique | building garden instrument show | .
melodious | mélodieux | mélodieuse | instrument | +
handy | pratique | pratique | tool machine | +
useful | utile | utile | tool machine doc | +
greased | graissé | graissée | tool machine | .
golden | doré | dorée | obj furniture | .
engraved | gravé | gravée | obj | .
magic | magique | magique | obj tale | .
hidden | caché | cachée | obj doc opening | .
missing | introuvable | introuvable | obj doc tool | .
inflated | gonflé | gonflée | toy | .
chewed | mâchouillé | mâchouillée | toy clothes | .
cracked open | éventré | éventrée | container furniture | .
sealed off | condamné | condamnée | room opening way | .
"""

INVITING = frozenset("calm starving famished fearless bold determined merry cheerful crunchy crispy tender creamy appetizing nourishing healthy refreshing "
                     "organic cozy luxurious renovated blooming fertile economical powerful sturdy elegant silky instructive captivating free "
                     "spectacular successful popular magnificent melodious handy useful golden magic rare clear soundproof patient confident".split())
