import { englishStem } from "./stem.ts";
import { IRREGULAR_FORMS } from "./word-lists.ts";

/** Words that say nearly the same, one group a line; everyday English and the words of software work. */
const SAME = `
job work career profession occupation employment
hobby pastime leisure interest
buy purchase
trip travel journey vacation holiday tour
begin start
finish complete end
quit resign stop
sick ill illness disease
doctor physician
health medical fitness
exercise workout gym fitness train
sad upset depressed unhappy
happy glad joy excited thrilled
afraid scared fear nervous anxious
angry mad annoyed
love enjoy like adore fond favorite prefer
hate dislike
big large huge
small little tiny
house home apartment flat condo
car vehicle truck
shop store boutique
teacher instructor coach mentor
class course lesson workshop
school college university
student pupil
study learn research
friend buddy pal
marry wedding marriage husband wife spouse
relationship partner boyfriend girlfriend dating
baby newborn infant pregnant
kill die death pass lose
assist support aid volunteer
goal aim dream ambition aspiration plan
plan intend
idea suggestion advice recommend suggest
gift present
prize award trophy medal
win victory
contest competition tournament
team squad
game match
celebrate celebration party birthday
meet gather gathering meetup
event conference festival fair
talk speak chat discuss conversation
speech presentation talk
tell inform
write author
novel book story
article post blog
paint painting draw drawing art artwork
photo photography camera
song music tune track
concert gig show performance
dance dancing
cook bake recipe meal
dinner supper meal
food dish
restaurant cafe diner
drink beverage
money cash fund finance financial
charity donate fundraiser donation nonprofit
company business firm startup
boss manager
colleague coworker
fire layoff
city town
country nation homeland
beach shore coast ocean sea
forest wood
mountain hike hiking trail
park outdoors nature
religion religious faith church spiritual belief
politics political election
identity gender
nickname name call
originally origin root
age old birthday
repair fix
break damage destroy
accident crash
problem issue trouble challenge difficulty struggle obstacle
difficult hard tough
stress pressure anxiety
relax unwind calm destress
therapy counseling counselor therapist
adopt adoption
pet dog cat puppy kitten
subject topic
reason cause
result outcome
change alter
move relocate
improve better upgrade
create produce build
show display
collect collection
symbol symbolize represent meaning
inspire inspiration motivate motivation
memory remember
test exam check
error bug failure defect fault
deploy release ship rollout
repository repo
database db
directory folder
configuration config setting
authentication auth login credential
delete remove drop
function method
dependency package library
server host machine
cluster kubernetes k8s
`;

/** A kind of thing and what is of that kind: a question often names the kind, a note the thing. */
const KINDS = `
pet: dog cat puppy kitten hamster turtle rabbit bunny fish parrot bird guinea snake lizard
animal: dog cat horse bird fish turtle bear deer elephant lion tiger rabbit wolf
instrument: guitar piano violin drum flute clarinet saxophone cello trumpet ukulele keyboard bass harp
music: song band album guitar piano concert jazz rock pop classical singer violin
sport: soccer football basketball baseball tennis golf hockey volleyball swim run cycling surfing skiing yoga boxing
exercise: yoga run jog swim weight pilates cycling boxing kickboxing
activity: hike camp paint swim run pottery yoga dance read cook cycling game
hobby: paint read cook garden hike photography knit write game guitar
outdoor: hike camp kayak fish trail climb
art: paint drawing sculpture pottery sketch canvas mural
craft: pottery knit sew sculpture woodwork
food: pizza pasta cake salad soup sushi cookie bread chicken steak taco curry chocolate
dessert: cake cookie pie ice chocolate brownie
drink: coffee tea wine beer juice soda
meal: breakfast lunch dinner
vehicle: car truck motorcycle bicycle van
family: mother father sister brother son daughter husband wife grandmother grandfather aunt uncle cousin child parent niece nephew
parent: mother father
sibling: sister brother
relative: aunt uncle cousin grandmother grandfather niece nephew
child: son daughter baby
weather: rain snow storm sunny cold hot
country: usa america canada mexico france spain italy germany england ireland japan china india australia brazil sweden thailand
city: london paris tokyo rome boston chicago seattle york barcelona berlin
state: california texas florida oregon minnesota michigan georgia
place: beach mountain park forest museum lake city country
nature: forest mountain lake beach park sunset hike flower
season: summer winter spring autumn
emotion: happy sad angry afraid proud excited nervous
degree: bachelor master phd graduate diploma
education: school college university degree class study graduate
book: novel read author series
movie: watch actor director film cinema
clothing: shirt dress shoe jacket hat pants
jewelry: necklace ring bracelet earring
color: red blue green yellow purple pink black white orange
console: nintendo playstation xbox switch
game: chess console nintendo playstation xbox board
device: phone laptop computer tablet
financial: money income debt loan budget rent
injury: ankle knee sprain hurt broke wound
disaster: flood fire earthquake hurricane storm
genre: comedy drama romance thriller fantasy horror mystery classical jazz rock pop
status: single married divorced engaged widowed
relationship: single married divorced breakup partner boyfriend girlfriend husband wife
european: france spain italy germany england ireland sweden portugal greece london paris rome
martial: karate judo taekwondo kickboxing boxing
event: parade concert fair conference festival workshop ceremony gala meeting
competition: tournament race match championship game
volunteer: shelter charity community
cause: charity rights education environment poverty
job: engineer teacher nurse lawyer banker designer manager
allergy: allergic peanut dairy gluten pollen
health: doctor hospital diet weight sleep injury surgery
achievement: award medal trophy graduate promotion win
item: bought gift necklace shoe toy
furniture: table chair couch sofa desk bed
flower: rose sunflower tulip lily daisy
vegetable: carrot tomato potato onion pepper
fruit: apple banana orange strawberry mango
body: knee ankle back shoulder head
room: kitchen bathroom bedroom garage
holiday: christmas thanksgiving easter halloween
military: veteran army soldier
nationality: american mexican french spanish italian german english irish swedish
database: postgres postgresql mysql sqlite mongodb redis
browser: chrome firefox safari
cloud: aws azure gcp
queue: kafka rabbitmq sqs
framework: react vue angular svelte django rails
editor: vscode vim emacs
language: typescript javascript python rust java golang
language: spanish french german english chinese japanese italian
`;

/** A thing that stands for its kind says more than a word that says nearly the same. */
const SAME_WEIGHT = 1;
const KIND_WEIGHT = 2;

const stemOf = (word: string): string => englishStem(IRREGULAR_FORMS.get(word) ?? word);
const lines = (text: string): readonly string[] => text.trim().split("\n");

/** By stem, the stems that may stand for it and how much each counts beside 1 for the word itself. */
export const RELATED: ReadonlyMap<string, ReadonlyMap<string, number>> = readLists();

function readLists(): Map<string, Map<string, number>> {
  const related = new Map<string, Map<string, number>>();
  const relate = (from: string, to: string, weight: number): void => {
    if (from === to) return;
    const known = related.get(from) ?? new Map<string, number>();
    related.set(from, known.set(to, Math.max(weight, known.get(to) ?? 0)));
  };
  for (const line of lines(SAME)) {
    const group = line.split(" ").map(stemOf);
    for (const one of group) for (const other of group) relate(one, other, SAME_WEIGHT);
  }
  for (const line of lines(KINDS)) {
    const [kind = "", members = ""] = line.split(": ");
    for (const member of members.split(" ")) relate(stemOf(kind), stemOf(member), KIND_WEIGHT);
  }
  return related;
}
