"""More words for the training sentences of tools/make-pronouns; the test has none of them.

The words of lexicon.py are divided into trained and held-out ones. These are only trained: the more nouns of a kind a model has
seen, the better it knows what to do with one that it has not. Same form as in lexicon.py.
"""

from . import more_adjectives

NOUNS = """
sheep/sheep mouton m animal big
bull taureau m animal big
tiger tigre m animal big
deer/deer cerf m animal big
parrot perroquet m animal small
pigeon pigeon m animal small
crow corbeau m animal small
eagle aigle m animal
swan cygne m animal
rooster coq m animal small
penguin manchot m animal small
crocodile crocodile m animal big
lizard lézard m animal small
rat rat m animal small
hamster hamster* m animal small
kangaroo kangourou m animal big
gorilla gorille m animal big
buffalo/buffaloes buffle m animal big
calf/calves veau m animal
lamb agneau m animal small
butterfly papillon m animal small
snail escargot m animal small
worm ver m animal small
zebra zèbre m animal big
lynx/lynxes lynx m animal
leopard léopard m animal big
pony poney m animal big
llama lama m animal big
wasp guêpe f animal small
fly mouche f animal small
caterpillar chenille f animal small
lioness lionne f animal big
ewe brebis f animal
panther panthère f animal big
otter loutre f animal small
weasel belette f animal small
gazelle gazelle f animal
ostrich autruche f animal big
magpie pie f animal small
seagull mouette f animal small
turkey dinde f animal small
mole taupe f animal small
bat chauve-souris f animal small
mule mule f animal big
stork cigogne f animal
teacher professeur m person
doctor médecin m person
farmer fermier m person
baker boulanger m person
student étudiant m person
prisoner prisonnier m person
guard garde m person
tourist touriste m person
thief/thieves voleur m person
visitor visiteur m person
cook cuisinier m person
knight chevalier m person
brother frère m person
uncle oncle m person
king roi m person
dancer danseuse f person
singer chanteuse f person
princess princesse f person
actress actrice f person
waitress serveuse f person
witch sorcière f person
maid servante f person
sister sœur f person
aunt tante f person
lane ruelle f way
alley allée f way
sidewalk trottoir m way
footbridge passerelle f way
square place f way
field champ m garden
meadow prairie f garden
forest forêt f garden
park parc m garden
yard cour f garden
orchard verger m garden
beach plage f garden
lawn pelouse f garden
terrace terrasse f garden
torrent torrent m water
ocean océan m water
bay baie f water
pool piscine f water
swamp marais m water
fountain fontaine f water
puddle flaque f water
waterfall cascade f water
library bibliothèque f room building
factory usine f room building
hospital hôpital m room building
theater théâtre m room building
cinema cinéma m room building
station gare f room building
pharmacy pharmacie f room building
bakery boulangerie f room building
prison prison f room building
chapel chapelle f room building
cathedral cathédrale f room building
palace palais m room building
barn grange f room building
stable écurie f room building
hut hutte* f room
tent tente f room
bedroom chambre f room
workshop atelier m room
cabin cabane f room
villa villa f room building
apartment appartement m room
bar bar m room building
inn auberge f room building
mill moulin m building
monastery monastère m room building
stadium stade m building
supermarket supermarché m room building
warehouse entrepôt m room building
bucket seau m container portable
jar bocal m container portable
barrel tonneau m container
envelope enveloppe f container portable
wallet portefeuille m container portable
pocket poche f container
briefcase mallette f container portable
case étui m container portable
bathtub baignoire f container
tank réservoir m container
carton carton m container portable
vat cuve f container
candle bougie f obj
pen stylo m obj tiny
pencil crayon m obj tiny
bell cloche f obj
flag drapeau m obj
crown couronne f obj
pearl perle f obj tiny
medal médaille f obj tiny
button bouton m obj tiny
needle aiguille f obj tiny
rope corde f obj
chain chaîne f obj
pillow oreiller m obj
painting tableau m obj
puppet marionnette f obj toy
marble bille f obj tiny toy
mask masque m obj
shield bouclier m obj
arrow flèche f obj
pipe pipe f obj
wheel roue f obj
brick brique f obj
stick bâton m obj
carafe carafe f obj breakable
teapot théière f obj breakable
pitcher cruche f obj breakable
bowl bol m obj breakable
saucer soucoupe f obj breakable
bulb ampoule f obj breakable device
telescope télescope m obj
spoon cuillère f obj
fork fourchette f obj
broom balai m obj
comb peigne m obj tiny
brush brosse f obj
soap savon m obj
omelette omelette f food
pie tarte f food
sausage saucisse f food
ham jambon m food mass
chicken poulet m food
jam confiture f food mass
butter beurre m food mass
stew ragoût m food
sandwich sandwich m food
steak steak m food
biscuit biscuit m food
chocolate chocolat m food mass
cream crème f food mass
honey miel m food mass
yogurt yaourt m food
pancake crêpe f food
carrot carotte f food
mushroom champignon m food
onion oignon m food
lettuce laitue f food
egg œuf m food
peach pêche f fruit
cherry cerise f fruit
strawberry fraise f fruit
plum prune f fruit
apricot abricot m fruit
pineapple ananas m fruit
fig figue f fruit
raspberry framboise f fruit
watermelon pastèque f fruit
kiwi kiwi m fruit
mango/mangoes mangue f fruit
grapefruit pamplemousse m fruit
juice jus m drink mass
lemonade limonade f drink mass
cider cidre m drink mass
liqueur liqueur f drink mass
cocoa cacao m drink mass
champagne champagne m drink mass
van camionnette f vehicle cabin
taxi taxi m vehicle cabin
tractor tracteur m vehicle cabin
scooter scooter m vehicle
helicopter hélicoptère m vehicle cabin
ship navire m vehicle cabin
tram tramway m vehicle cabin
rocket fusée f vehicle cabin
canoe canoë m vehicle
barge péniche f vehicle cabin
wheelbarrow brouette f vehicle
sled luge f vehicle
limousine limousine f vehicle cabin
caravan caravane f vehicle cabin
television télévision f machine
oven four m machine
robot robot m machine
lawnmower tondeuse f machine
calculator calculatrice f machine
screen écran m machine
drill perceuse f machine
tablet tablette f machine
heater radiateur m machine
fan ventilateur m machine
elevator ascenseur m machine
pump pompe f machine
alarm alarme f machine
console console f machine
projector projecteur m machine
stool tabouret m furniture
mat tapis m furniture
cradle berceau m furniture
mattress matelas m furniture
dresser commode f furniture
counter comptoir m furniture
cushion coussin m furniture
hammock hamac* m furniture
throne trône m furniture
couch banquette f furniture
vest gilet m clothes
tie cravate f clothes
glove gant m clothes
sock chaussette f clothes
shoe chaussure f clothes
boot botte f clothes
belt ceinture f clothes
suit costume m clothes
blouse blouse f clothes
cap casquette f clothes
uniform uniforme m clothes
apron tablier m clothes
cape cape f clothes
raincoat imperméable m clothes
tunic tunique f clothes
swimsuit maillot m clothes
pine pin m plant high
fir sapin m plant high
willow saule m plant high
poplar peuplier m plant high
birch bouleau m plant high
daisy marguerite f plant
orchid orchidée f plant
lily lys m plant
fern fougère f plant
cactus/cactuses cactus m plant
violet violette f plant
reed roseau m plant
screwdriver tournevis m tool
rake râteau m tool
dagger poignard m tool blade
spear lance f tool
scythe faux f tool blade
pickaxe pioche f tool
chisel ciseau m tool
sickle faucille f tool blade
file lime f tool
sword épée f tool blade
notebook cahier m doc
magazine magazine m doc
contract contrat m doc
bill facture f doc
report rapport m doc
article article m doc
recipe recette f doc
dictionary dictionnaire m doc
ticket billet m doc
list liste f doc
manual manuel m doc
legend légende f doc tale
tale conte m doc tale
fable fable f doc tale
brochure brochure f doc
passport passeport m doc
form formulaire m doc
photo photo f doc
wedding mariage m event
ceremony cérémonie f event
show spectacle m event show
opera opéra m event show
conference conférence f event
race course f event show
tournament tournoi m event show
exhibition exposition f event
trial procès m event
debate débat m event show
strike grève f event
journey voyage m event
walk promenade f event
dinner dîner m event
exam examen m event
barrier barrière f barrier
partition cloison f barrier
shutter volet m barrier opening
trapdoor trappe f barrier opening
rampart rempart m barrier high
railing rampe f barrier
flute flûte f instrument
drum tambour m instrument
harp harpe* f instrument
cello violoncelle m instrument
accordion accordéon m instrument
clarinet clarinette f instrument
organ orgue m instrument
saxophone saxophone m instrument
banjo banjo m instrument
lute luth m instrument
cliff falaise f high
hill colline f high
mountain montagne f high
ceiling plafond m high
balcony balcon m high
chimney cheminée f high
rock rocher m high
steeple clocher m high
nest nid m high
"""

ADJECTIVES = """
grumpy | grincheux | grincheuse | animal person | +
happy | heureux | heureuse | animal person | +
young | jeune | jeune | animal person | +
skinny | maigre | maigre | animal person | +
blind | aveugle | aveugle | animal person | .
deaf | sourd | sourde | animal person | .
drowsy | somnolent | somnolente | animal person | +
greedy | gourmand | gourmande | animal person | +
jealous | jaloux | jalouse | animal person | +
excited | excité | excitée | animal person | +
anxious | anxieux | anxieuse | animal person | +
terrified | terrifié | terrifiée | animal person | .
hesitant | hésitant | hésitante | animal person | +
proud | fier | fière | animal person | +
obedient | obéissant | obéissante | animal person | +
fierce | féroce | féroce | animal person | +
tame | apprivoisé | apprivoisée | animal | .
hairy | poilu | poilue | animal person | +
aggressive | agressif | agressive | animal person | +
playful | joueur | joueuse | animal person | +
loyal | fidèle | fidèle | animal person | +
dead | mort | morte | animal person plant | .
poor | pauvre | pauvre | animal person | .
polite | poli | polie | person | +
generous | généreux | généreuse | person | +
hardworking | travailleur | travailleuse | person animal | +
kind | gentil | gentille | person animal | +
drunk | ivre | ivre | person animal | +
talkative | bavard | bavarde | person animal | +
selfish | égoïste | égoïste | person animal | +
bumpy | cahoteux | cahoteuse | way | +
winding | sinueux | sinueuse | way water | +
muddy | boueux | boueuse | way garden water clothes | +
snowy | enneigé | enneigée | way garden building high | .
dangerous | dangereux | dangereuse | animal person way water machine vehicle tool high plant | +
shady | ombragé | ombragée | way garden | +
choppy | agité | agitée | water | +
murky | trouble | trouble | water drink | +
stale | rassis | rassise | food | .
bland | fade | fade | food drink fruit | +
moldy | moisi | moisie | food fruit barrier room clothes | .
peeled | épluché | épluchée | fruit food | .
expired | périmé | périmée | food drink doc | .
overcooked | trop cuit | trop cuite | food | .
iced | glacé | glacée | drink food water | .
sparkling | pétillant | pétillante | drink water | .
spacious | spacieux | spacieuse | room building cabin container | +
cramped | exigu | exiguë | room cabin | +
abandoned | abandonné | abandonnée | building room vehicle garden animal way | .
haunted | hanté | hantée | building room garden | .
heated | chauffé | chauffée | room building water | .
sealed | scellé | scellée | container doc barrier | .
leaky | percé | percée | container | .
overloaded | surchargé | surchargée | vehicle container animal | .
parked | garé | garée | vehicle | .
cancelled | annulé | annulée | event | .
postponed | reporté | reportée | event | .
exciting | passionnant | passionnante | event doc | +
endless | interminable | interminable | event doc way | .
confidential | confidentiel | confidentielle | doc event | .
signed | signé | signée | doc | .
forged | falsifié | falsifiée | doc | .
handwritten | manuscrit | manuscrite | doc | .
moving | émouvant | émouvante | doc event | +
defective | défectueux | défectueuse | machine vehicle tool instrument device | .
reliable | fiable | fiable | machine vehicle person tool | +
overheated | surchauffé | surchauffée | machine vehicle room | .
switched off | éteint | éteinte | machine device | .
out of tune | désaccordé | désaccordée | instrument | .
tuned | accordé | accordée | instrument | .
rickety | branlant | branlante | furniture barrier building | +
padded | rembourré | rembourrée | furniture clothes | .
varnished | verni | vernie | furniture instrument | .
stained | taché | tachée | clothes furniture doc | .
ironed | repassé | repassée | clothes | .
loose | ample | ample | clothes | +
knitted | tricoté | tricotée | clothes | .
patched | rapiécé | rapiécée | clothes | .
soaked | trempé | trempée | clothes animal person doc furniture | .
leafy | feuillu | feuillue | plant | +
withered | flétri | flétrie | plant | .
watered | arrosé | arrosée | plant garden | .
unreachable | inaccessible | inaccessible | high way building | .
sharpened | aiguisé | aiguisée | tool | .
bent | tordu | tordue | tool obj | .
chipped | ébréché | ébréchée | breakable blade | .
shiny | brillant | brillante | obj tool vehicle furniture fruit clothes | +
stolen | volé | volée | obj vehicle doc container clothes machine instrument tool furniture animal | .
"""

INVITING = frozenset("happy greedy playful generous kind shady peeled iced sparkling spacious heated exciting moving reliable padded tuned "
                     "loose sharpened shiny watered".split())
INVITING |= more_adjectives.INVITING
ADJECTIVES += more_adjectives.ADJECTIVES.lstrip()
