import type { Course } from "./case.ts";

/** A line each: statements | a later message | what is gone then | what stands. Several have `;;` between them. */
function coursesIn(table: string): readonly Course[] {
  const told = (cell: string): readonly RegExp[] =>
    cell === "" ? [] : cell.split(";;").map((source) => new RegExp(source, "iu"));
  return table
    .trim()
    .split("\n")
    .map((line) => {
      const [said = "", then = "", gone = "", stands = ""] = line.split("|").map((cell) => cell.trim());
      return [said.split(";;"), then, told(gone), told(stands)];
    });
}

/** One thing is forgotten, and nothing that only shares words with it. */
export const forgotten: readonly Course[] = coursesIn(`
My car is a red Volvo.;;My car insurance is with Allmark. | Forget my car insurance. | Allmark | Volvo
My car is a red Volvo. | Forget my car insurance. |  | Volvo
My car is a red Volvo. | Please delete everything about my car insurance from your memory. |  | Volvo
My dog is called Pip.;;My dog walker is Selma. | Please forget my dog walker. | Selma | Pip
My dog is called Pip. | Please forget my dog walker. |  | Pip
I live in Leeds. | Forget that I work in Leeds. |  | live in Leeds
My son goes to Elm Park School. | Erase my son's diagnosis from your memory. |  | Elm Park
My wife is called Maren.;;My wife's birthday is on May 4. | Forget my wife's birthday. | May 4 | Maren
Our staging server is called heron. | Remove the note about the staging password from your memory. |  | heron
My sister lives in Turin.;;My brother lives in Turin. | Forget where my sister lives. | sister lives | brother lives
My phone number is 555-0142.;;My phone plan is with Telora. | Forget my phone plan. | Telora | 0142
My name is Ines.;;My cat's name is Biscuit. | Forget my cat's name. | Biscuit | Ines
My flat is in Weir Street.;;My flat number is 14. | Forget my flat number. | 14 | Weir
I drive a red Kia.;;Mr Redding is our landlord. | Forget Redding. | Redding | red Kia
I drive a red Kia. | Forget Redding. |  | red Kia
I'm planning to quit my job at Fernhill. | erase the thing about me quitting Fernhill please | quit my job | 
Our school is Elm Park.;;We go to the pool on Mondays. | Please forget which school we go to. | Elm Park | pool
My gym is Ironhall.;;My gym bag is in locker 12. | Forget my gym bag. | locker | Ironhall
My red Volvo is from 2014. | Forget the insurance of my red Volvo. |  | 2014
Mein Auto ist ein blauer Opel.;;Meine Autoversicherung ist bei der Hanselinie. | Vergiss meine Autoversicherung. | Hanselinie | Opel
Mein Auto ist ein blauer Opel. | Lösche die Versicherung meines Autos aus deinem Gedächtnis. |  | Opel
Meine Frau heißt Maren. | Vergiss den Geburtstag meiner Frau. |  | Maren
Mein Hund heißt Bolle. | Vergiss meinen Hundetrainer. |  | Bolle
Mein Hochzeitstag ist der 17. August.;;Mein Geburtstag ist der 3. Mai. | Vergiss bitte meinen Hochzeitstag. | 17. August | 3. Mai
Ma voiture est une Dacia grise.;;L'assurance de ma voiture est chez Solvia. | Oublie l'assurance de ma voiture. | Solvia | Dacia
Ma fille s'appelle Capucine. | Oublie l'école de ma fille. |  | Capucine
Ma voiture est une Dacia grise. | Oublie l'assurance de ma voiture. |  | Dacia
Mi perro se llama Trufa.;;El veterinario de mi perro es Lamas. | Olvida el veterinario de mi perro. | Lamas | Trufa
Mi hija se llama Nerea. | Olvida la escuela de mi hija. |  | Nerea
Mi sueldo es de 2.100 euros.;;Mi alquiler es de 900 euros. | Olvida mi sueldo. | 2.100 | 900
Meu carro é um Fiat verde.;;O seguro do meu carro é da Portosol. | Esqueça o seguro do meu carro. | Portosol | Fiat
Minha filha se chama Nina. | Esqueça a escola da minha filha. |  | Nina
Моя машина — красная Лада.;;Моя страховка машины стоит 40000. | Забудь про страховку моей машины. | 40000 | Лада
Мою дочь зовут Лада. | Забудь про школу моей дочери. |  | Лада
我的车是红色的吉利。;;我的车险是平和公司的。 | 忘掉我的车险吧。 | 平和 | 吉利
我的女儿叫小雨。 | 忘掉我女儿的学校。 |  | 小雨
我的身高是172厘米。;;我的体重是60公斤。 | 请忘掉我的身高。 | 172 | 60
私の車は赤いスズキです。;;私の車の保険は東栄です。 | 私の車の保険は忘れてください。 | 東栄 | スズキ
娘の名前は葵です。 | 娘の学校のことは忘れて。 |  | 葵
Anna leads the data team.;;Anna leads the web team. | Forget that Anna leads the web team. | web team | data team
My car insurance is with Allmark.;;My home insurance is with Allmark. | Forget my home insurance. | home insurance | car insurance
Our staging server is called heron.;;Our test server is called stork. | Forget our test server. | stork | heron
My mother's birthday is on May 4.;;My father's birthday is on May 9. | Forget my mother's birthday. | May 4 | May 9
`);
