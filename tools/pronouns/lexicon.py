"""Words for tools/make-pronouns: nouns with their French gender and what they are, adjectives with what they are said of.

A noun is "english[/plural] french gender tags"; "*" after the French word: its h is aspirated (la hache); "mass": no plural.
Words that people learn early, in each group of both genders. An adjective's tags must be complete: that "wide" is not said
of animals is what decides who is too wide.
"""

NOUNS = """
dog chien m animal big
cat chat m animal small
horse cheval m animal big
rabbit lapin m animal small
bird oiseau m animal small
monkey singe m animal
pig cochon m animal big
donkey âne m animal big
wolf/wolves loup m animal
fox renard m animal
bear ours m animal big
lion lion m animal big
elephant éléphant m animal big
duck canard m animal small
snake serpent m animal
squirrel écureuil m animal small
puppy chiot m animal small
kitten chaton m animal small
camel chameau m animal big
hedgehog hérisson* m animal small
animal animal m animal
cow vache f animal big
mouse/mice souris f animal small
goat chèvre f animal
turtle tortue f animal small
frog grenouille f animal small
hen poule f animal small
giraffe girafe f animal big
bee abeille f animal small
spider araignée f animal small
goose/geese oie f animal small
owl chouette f animal small
mare jument f animal big
ant fourmi f animal small
beast bête f animal
boy garçon m person
child/children enfant m person
man/men homme m person
worker ouvrier m person
neighbor voisin m person
soldier soldat m person
girl fille f person
woman/women femme f person
nurse infirmière f person
queen reine f person
grandmother grand-mère f person
street rue f way
road route f way
avenue avenue f way
highway autoroute f way
track piste f way
path chemin m way
bridge pont m way
boulevard boulevard m way
trail sentier m way
tunnel tunnel m way
passage passage m way
river rivière f water
sea mer f water
stream ruisseau m water
lake lac m water
pond étang m water
canal canal m water
house maison f room building
church église f room building
school école f room building
shop boutique f room building
farm ferme f room building
garage garage m room building
castle château m room building
museum musée m room building
hotel hôtel m room building
restaurant restaurant m room building
kitchen cuisine f room
room pièce f room
cave grotte f room
cellar cave f room
office bureau m room
garden jardin m garden
lounge salon m room
attic grenier m room
suitcase valise f container portable
box boîte f container portable
bottle bouteille f container portable
bag sac m container portable
basket panier m container portable
drawer tiroir m container
cupboard placard m container
trunk coffre m container
wardrobe armoire f container
crate caisse f container portable
cage cage f container
key clé f obj tiny key
ball balle f obj
doll poupée f obj toy
ring bague f obj tiny
watch/watches montre f obj tiny
lamp lampe f obj device
statue statue f obj
cup tasse f obj breakable
plate assiette f obj breakable
coin pièce f obj tiny
trophy trophée m obj
toy jouet m obj toy
mirror miroir m obj breakable
glass/glasses verre m obj breakable
vase vase m obj breakable
hat chapeau m clothes
necklace collier m obj tiny
balloon ballon m obj
phone téléphone m obj machine
umbrella parapluie m obj
clock horloge f obj
stone pierre f obj
soup soupe f food
meat viande f food mass
salad salade f food
pizza pizza f food
sauce sauce f food
bread pain m food mass
cake gâteau m food
cheese fromage m food mass
fish poisson m food mass
rice riz m food mass
apple pomme f fruit
pear poire f fruit
banana banane f fruit
orange orange f fruit
tomato tomate f fruit
melon melon m fruit
fruit fruit m fruit
lemon citron m fruit
water eau f drink mass
milk lait m drink mass
coffee café m drink mass
tea thé m drink mass
wine vin m drink mass
beer bière f drink mass
car voiture f vehicle cabin
truck camion m vehicle cabin
train train m vehicle cabin
bus/buses bus m vehicle cabin
boat bateau m vehicle cabin
plane avion m vehicle cabin
bicycle bicyclette f vehicle
motorcycle moto f vehicle
ambulance ambulance f vehicle cabin
computer ordinateur m machine
printer imprimante f machine
radio radio f machine
machine machine f machine
camera caméra f machine
fridge réfrigérateur m machine
engine moteur m machine
table table f furniture
chair chaise f furniture
armchair fauteuil m furniture
bed lit m furniture
sofa canapé m furniture
bench/benches banc m furniture
carpet tapis m furniture
shelf/shelves étagère f furniture high
dress/dresses robe f clothes
shirt chemise f clothes
jacket veste f clothes
skirt jupe f clothes
coat manteau m clothes
sweater pull m clothes
scarf/scarves écharpe f clothes
tree arbre m plant high
bush/bushes buisson m plant
oak chêne m plant high
flower fleur f plant
rose rose f plant
tulip tulipe f plant
knife/knives couteau m tool blade
hammer marteau m tool
saw scie f tool blade
axe hache* f tool blade
shovel pelle f tool
razor rasoir m tool blade
letter lettre f doc
page page f doc
book livre m doc
newspaper journal m doc
message message m doc
story histoire f doc tale
novel roman m doc tale
map carte f doc
poem poème m doc tale
party fête f event
meeting réunion f event
lesson leçon f event
movie film m event show
concert concert m event show
play pièce f event show
match/matches match m event show
wall mur m barrier
fence clôture f barrier
door porte f barrier opening
window fenêtre f barrier opening high
gate portail m barrier opening
hedge haie* f barrier
corridor couloir m way opening
piano piano m instrument
guitar guitare f instrument
violin violon m instrument
trumpet trompette f instrument
branch/branches branche f high
roof/roofs toit m high
tower tour f high building
"""

# english, masculine, feminine, what it is said of; "+": takes "too", "very"; "a": with avoir ("avait faim").
ADJECTIVES = """
tired | fatigué | fatiguée | animal person | +
exhausted | épuisé | épuisée | animal person | .
hungry | faim | faim | animal person | a
thirsty | soif | soif | animal person | a
scared | peur | peur | animal person | a
sleepy | sommeil | sommeil | animal person | a
frightened | effrayé | effrayée | animal person | +
sick | malade | malade | animal person plant | +
weak | faible | faible | animal person | +
lazy | paresseux | paresseuse | animal person | +
shy | timide | timide | animal person | +
nervous | nerveux | nerveuse | animal person | +
furious | furieux | furieuse | animal person | .
wounded | blessé | blessée | animal person | .
injured | blessé | blessée | animal person | .
curious | curieux | curieuse | animal person | +
stubborn | têtu | têtue | animal person | +
careful | prudent | prudente | animal person | +
impatient | impatient | impatiente | animal person | +
clumsy | maladroit | maladroite | animal person | +
brave | courageux | courageuse | animal person | +
asleep | endormi | endormie | animal person | .
lost | perdu | perdue | animal person obj doc | .
worried | inquiet | inquiète | animal person | +
hurt | blessé | blessée | animal person | .
wide | large | large | way water room furniture barrier container | +
narrow | étroit | étroite | way water room furniture barrier container clothes vehicle | +
steep | raide | raide | way | +
slippery | glissant | glissante | way room | +
busy | fréquenté | fréquentée | way building person | +
deserted | désert | déserte | way room garden building | .
blocked | bloqué | bloquée | way vehicle barrier machine | .
flooded | inondé | inondée | way room garden building | .
icy | verglacé | verglacée | way | .
paved | pavé | pavée | way | .
deep | profond | profonde | water container room | +
polluted | pollué | polluée | water way | +
frozen | gelé | gelée | water food fruit drink | .
hot | chaud | chaude | food drink machine water | +
cold | froid | froide | food drink water | +
spicy | épicé | épicée | food | +
salty | salé | salée | food water | +
sweet | sucré | sucrée | food drink fruit | +
bitter | amer | amère | food drink fruit | +
sour | acide | acide | food drink fruit | +
rotten | pourri | pourrie | food fruit plant | .
ripe | mûr | mûre | fruit | +
juicy | juteux | juteuse | fruit food | +
burnt | brûlé | brûlée | food | .
raw | cru | crue | food fruit | .
delicious | délicieux | délicieuse | food drink fruit | .
fresh | frais | fraîche | food drink fruit water | +
tasty | savoureux | savoureuse | food fruit drink | +
poisoned | empoisonné | empoisonnée | food drink fruit water | .
empty | vide | vide | container room vehicle way building breakable | .
full | plein | pleine | container room vehicle event building breakable | .
closed | fermé | fermée | container room barrier building doc way | .
locked | verrouillé | verrouillée | container room barrier building vehicle machine | .
open | ouvert | ouverte | container room barrier building doc way | .
broken | cassé | cassée | obj machine furniture tool instrument barrier container vehicle | .
heavy | lourd | lourde | obj furniture container tool machine doc instrument vehicle barrier food clothes | +
light | léger | légère | obj furniture container tool machine doc instrument vehicle food drink clothes room | +
fragile | fragile | fragile | obj furniture machine instrument container barrier plant tool | +
precious | précieux | précieuse | obj doc instrument clothes container | +
sharp | tranchant | tranchante | tool | +
pointed | pointu | pointue | tool | +
blunt | émoussé | émoussée | tool | +
rusty | rouillé | rouillée | tool machine vehicle key barrier | +
torn | déchiré | déchirée | clothes doc furniture | .
wrinkled | froissé | froissée | clothes doc | +
tight | serré | serrée | clothes | +
faded | décoloré | décolorée | clothes furniture plant | .
worn | usé | usée | clothes furniture tool | +
warm | chaud | chaude | clothes food drink water room | +
boring | ennuyeux | ennuyeuse | doc event person | +
interesting | intéressant | intéressante | doc event person | +
funny | drôle | drôle | doc event person animal | +
sad | triste | triste | doc event person animal | +
complicated | compliqué | compliquée | doc event machine | +
urgent | urgent | urgente | doc event | +
secret | secret | secrète | doc event way | .
illegible | illisible | illisible | doc | .
noisy | bruyant | bruyante | machine vehicle event animal person way room instrument | +
slow | lent | lente | vehicle animal person machine | +
wilted | fané | fanée | plant | .
thorny | épineux | épineuse | plant | +
fragrant | parfumé | parfumée | plant | +
comfortable | confortable | confortable | furniture clothes vehicle room | +
wobbly | bancal | bancale | furniture | +
crowded | bondé | bondée | vehicle room building way event | .
high | haut | haute | barrier high | +
low | bas | basse | barrier high furniture | +
dark | sombre | sombre | room way building clothes garden | +
sunny | ensoleillé | ensoleillée | room way garden building | .
damp | humide | humide | room clothes building garden | +
dusty | poussiéreux | poussiéreuse | room furniture obj way building machine doc container | +
modern | moderne | moderne | building room machine furniture vehicle event | +
thick | épais | épaisse | barrier doc clothes food plant | +
unplugged | débranché | débranchée | machine device | .
"""

# What decides by itself: said of things of one kind, for a reason. English, masculine, feminine; "too" is part of it.
CHOSEN = [("cheaper", "moins cher", "moins chère"), ("better", "meilleur", "meilleure"), ("prettier", "plus joli", "plus jolie"),
          ("lighter", "plus léger", "plus légère"), ("stronger", "plus solide", "plus solide"),
          ("more modern", "plus moderne", "plus moderne"), ("more comfortable", "plus confortable", "plus confortable"),
          ("more beautiful", "plus beau", "plus belle"), ("newer", "plus récent", "plus récente")]
REJECTED = [("too expensive", "trop cher", "trop chère"), ("broken", "cassé", "cassée"), ("too old", "trop vieux", "trop vieille"),
            ("worn out", "usé", "usée"), ("too heavy", "trop lourd", "trop lourde"), ("ugly", "laid", "laide"),
            ("damaged", "abîmé", "abîmée"), ("too fragile", "trop fragile", "trop fragile"), ("dirty", "sale", "sale"),
            ("useless", "inutile", "inutile")]
BIG = [("too big", "trop grand", "trop grande"), ("too large", "trop grand", "trop grande"), ("too long", "trop long", "trop longue"),
       ("too wide", "trop large", "trop large"), ("too thick", "trop épais", "trop épaisse"), ("too bulky", "trop gros", "trop grosse")]
SMALL = [("too small", "trop petit", "trop petite"), ("too narrow", "trop étroit", "trop étroite"), ("too short", "trop court", "trop courte"),
         ("full", "plein", "pleine"), ("too tiny", "trop petit", "trop petite")]
STRONG = [("heavy", "lourd", "lourde"), ("very heavy", "très lourd", "très lourde"), ("too heavy", "trop lourd", "trop lourde"),
          ("hard", "dur", "dure"), ("very hard", "très dur", "très dure")]
DELICATE = [("fragile", "fragile", "fragile"), ("very fragile", "très fragile", "très fragile"), ("too thin", "trop mince", "trop mince"),
            ("too delicate", "trop délicat", "trop délicate"), ("cracked", "fissuré", "fissurée")]
FASTER = [("faster", "plus rapide", "plus rapide"), ("stronger", "plus fort", "plus forte"), ("very fast", "très rapide", "très rapide"),
          ("quicker", "plus rapide", "plus rapide"), ("very quick", "très rapide", "très rapide")]
SLOWER = [("too slow", "trop lent", "trop lente"), ("slower", "plus lent", "plus lente"), ("wounded", "blessé", "blessée"),
          ("asleep", "endormi", "endormie"), ("tired", "fatigué", "fatiguée")]

# Never together in training: nouns of the tutorials' sentences, and of the best known ones about pronouns.
NEVER_TOGETHER = [("animal", "street"), ("cat", "carpet"), ("cat", "mat"), ("trophy", "suitcase"), ("trophy", "bag")]

# Reasons to do something; the others are reasons not to.
INVITING = frozenset("hungry thirsty curious brave careful impatient deserted fresh delicious tasty ripe juicy sweet open empty light precious sharp "
                     "pointed warm interesting funny urgent secret fragrant comfortable sunny modern".split())

# The number is the French person: je, tu, il, nous, vous, ils.
SUBJECTS = [("I", "je", 0), ("you", "vous", 4), ("he", "il", 2), ("she", "elle", 2), ("we", "nous", 3), ("Tom", "Tom", 2),
            ("Mary", "Marie", 2), ("my father", "mon père", 2), ("my mother", "ma mère", 2)]

# English, then masculine and feminine; said of what has one of the tags; "after": follows its noun.
ATTRIBUTES = [("black", "noir", "noire", "animal clothes vehicle obj furniture container", "after"),
              ("white", "blanc", "blanche", "animal clothes vehicle obj furniture container plant", "after"),
              ("red", "rouge", "rouge", "clothes vehicle obj furniture container plant", "after"),
              ("blue", "bleu", "bleue", "clothes vehicle obj furniture container", "after"),
              ("green", "vert", "verte", "clothes vehicle obj furniture container", "after"),
              ("grey", "gris", "grise", "animal clothes vehicle building", "after"),
              ("little", "petit", "petite", "animal person", ""), ("big", "grand", "grande", "animal", ""),
              ("old", "vieux", "vieille", "building way furniture vehicle machine", ""),
              ("beautiful", "beau", "belle", "building garden clothes instrument plant", "")]
BEFORE_VOWEL = {"vieux": "vieil", "beau": "bel"}
