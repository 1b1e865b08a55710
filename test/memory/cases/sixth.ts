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
My flat is in Weir Street.;;My flat number is 14. | Forget my flat number. | is 14 | Weir
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
My phone is a Pixel with 128 GB.;;My phone number ends in 6042. | Delete my phone number. | 6042 | Pixel
Mein Handy ist ein Nokia.;;Meine Handynummer endet auf 6042. | Lösch meine Handynummer. | 6042 | Nokia
Meine Bank ist die Elbkasse.;;Meine Kontonummer ist 60427781. | Lösch meine Kontonummer. | 60427781 | Elbkasse
Мой телефон — Нокия.;;Мой номер телефона кончается на 6042. | Удали мой номер телефона. | 6042 | Нокия
我的手机是小米。;;我的手机号尾号是 6042。 | 删掉我的手机号。 | 6042 | 小米
Retiens que le serveur de test s'appelle bouvreuil.;;Retiens que le serveur de production s'appelle pinson. | Oublie le serveur de test. | bouvreuil | pinson
Recuerda que el servidor de pruebas se llama jilguero.;;Recuerda que el servidor de producción se llama gorrión. | Olvida el servidor de pruebas. | jilguero | gorrión
Lembre que o servidor de testes se chama sabiá.;;Lembre que o servidor de produção se chama curió. | Esqueça o servidor de testes. | sabiá | ^O servidor de produção se chama curió
Mi notaría es Solares.;;Mi contacto de la notaría es Berta. | Borra a mi contacto de la notaría. | Berta | Solares
Minha escola é a Aurora.;;O preço da minha escola é 310 reais. | Apague o preço da minha escola. | 310 | Aurora
Mein Verein ist der Ruderklub.;;Der Beitrag meines Vereins ist 119 Euro. | Lösche den Beitrag meines Vereins. | 119 | Ruderklub
My tutor is Mr. Osei.;;My tutor comes on Fridays at 15:40. | Wipe both things I told you about my tutor. | Osei;;15:40 | 
Ich nehme Augentropfen von Klaran. | Merk dir nicht mehr, welche Augentropfen ich nehme. | Klaran | 
Mein Ex heißt Ruven.;;Mein Bruder heißt Tim. | Lösche alles über Ruven. | Ruven | Tim
Mi antiguo jefe se llama Nicanor. | Borra todo lo que sepas de Nicanor. | Nicanor | 
Mi vecino se llama Nicanor. | Elimina toda la información sobre Nicanor. | Nicanor | 
Meu ex-namorado se chama Otávio. | Apague tudo sobre o Otávio. | Otávio | 
Моего соседа зовут Богдан.;;Мою сестру зовут Анна. | Удали всё про Богдана. | Богдан | Анна
我的前老板叫罗宾。 | 把关于罗宾的一切都删掉。 | 罗宾 | 
我的邻居叫罗宾。 | 忘掉所有关于罗宾的事。 | 罗宾 | 
元彼氏の名前は大輔です。;;娘の名前は葵です。 | 大輔のことは全部忘れてください。 | 大輔 | 葵
私の家賃は91000円です。 | 家賃のことは消してください。 | 91000 | 
`);

/** What was just said is taken back; an order of work, a lapse and a request not to forget take nothing back. */
export const takenBack: readonly Course[] = coursesIn(String.raw`
I have a heart condition. | Scratch that about my heart. | heart | 
My sister Ilse is moving to Turin. | Scratch that about Ilse, please. | Ilse | 
My boss Ruan drinks too much. | Strike that about Ruan. | Ruan | 
I take 40 mg of Velorix every day. | Scratch what I said about Velorix. | Velorix | 
J'ai de l'asthme. | Oublie ça. | asthme | 
Je gagne 41 000 euros par an. | Oublie ça s'il te plaît. | 41 000 | 
Mon ex s'appelle Gaétan. | Oublie ce que je viens de dire. | Gaétan | 
我有糖尿病。 | 忘了吧。 | 糖尿病 | 
我每月挣两万。 | 忘了它吧。 | 两万 | 
我住在苏州。 | 刚才说的忘了吧。 | 苏州 | 
我住在苏州。 | 把这个忘了吧。 | 苏州 | 
Ich habe Diabetes. | Vergiss das wieder. | Diabetes | 
Mein Gehalt ist 61.000 Euro. | Vergiss es bitte. | 61.000 | 
Gano 2.400 euros al mes. | Olvídalo. | 2\.400 | 
Tengo asma. | Olvida eso, por favor. | asma | 
Eu ganho 5.200 reais por mês. | Esquece isso. | 5\.200 | 
Я зарабатываю 80 тысяч в месяц. | Забудь об этом. | 80 тысяч | 
私は糖尿病です。 | 今のは忘れて。 | 糖尿病 | 
月収は40万円です。 | 忘れてください。 | 40万 | 
Our release date is May 9. | Scratch that about the release notes. |  | May 9
Our retro is on Monday. | Scratch what I said on Monday. |  | retro
Our release is on May 9.;;Add a header to the page. | Scratch that. |  | May 9
We test with Vitest. | Scratch that about the tests for now, do the header first. |  | Vitest
We test with Vitest. | Never mind about the tests. |  | Vitest
My rent is 900 euros.;;Use a blue button here. | Scratch that, use a red one. |  | 900
We deploy on Tuesdays. | Scratch the deploy script, write a new one. |  | Tuesdays
Our budget is 7000 euros. | Scratch that itch of yours and clean up the page. |  | 7000
Our wiki is hosted on Outline. | Strike that pose again in the picture. |  | Outline
Notre démo est le 9 mai.;;Ajoute un titre à la page. | Oublie ça. |  | 9 mai
Notre démo est le 9 mai. | N'oublie pas ça. |  | 9 mai
Notre démo est le 9 mai. | N'oublie ça surtout pas. |  | 9 mai
我们的发布日是5月9日。;;请给页面加一个标题。 | 忘了吧。 |  | 5月9日
我们的发布日是5月9日。 | 别忘了。 |  | 5月9日
我们的发布日是5月9日。 | 我忘了怎么运行测试。 |  | 5月9日
我们的发布日是5月9日。 | 我忘了。 |  | 5月9日
我们的发布日是5月9日。 | 密码我忘了吧？ |  | 5月9日
Unser Release ist am 9. Mai.;;Füge eine Überschrift hinzu. | Vergiss es. |  | 9. Mai
Unser Release ist am 9. Mai. | Vergiss das nicht. |  | 9. Mai
Nuestra demo es el 9 de mayo. | No lo olvides. |  | 9 de mayo
Nossa demo é no dia 9 de maio. | Não esqueça isso. |  | 9 de maio
Наш релиз 9 мая. | Не забудь об этом. |  | 9 мая
リリースは5月9日です。 | 忘れないで。 |  | 5月9日
リリースは5月9日です。 | 設定を忘れていました。 |  | 5月9日
リリースは5月9日です。;;ヘッダーを追加してください。 | 忘れて。 |  | 5月9日
`);

/** A passive replaces what it says is gone. */
export const passives: readonly Course[] = coursesIn(`
We use Redis for the cache. | Redis was replaced by Valkey. | use Redis | Valkey
Our CI runs on Jenkins. | Jenkins has been replaced with Buildkite. | on Jenkins | Buildkite
Our wiki is in Confluence. | Confluence was replaced by Outline last week. | in Confluence | Outline
Nadia leads the data team. | Nadia was replaced by Femi. | Nadia leads | Femi
We use Redis for the cache.;;We use Kafka for events. | Kafka was replaced by Redpanda. | use Kafka | use Redis;;Redpanda
Wir nutzen Redis als Cache. | Redis wurde durch Valkey ersetzt. | nutzen Redis | Valkey
Unsere Tickets liegen in Jira. | Jira ist durch Linear ersetzt worden. | in Jira | Linear
Unser Chat läuft über Slack. | Slack wurde gegen Zulip getauscht. | über Slack | Zulip
Nous utilisons Redis pour le cache. | Redis a été remplacé par Valkey. | utilisons Redis | Valkey
Notre wiki est sur Confluence. | Confluence est remplacé par Outline. | sur Confluence | Outline
Usamos Redis para la caché. | Redis fue reemplazado por Valkey. | Usamos Redis | Valkey
Nuestro CI está en Jenkins. | Jenkins ha sido sustituido por Drone. | en Jenkins | Drone
Usamos Redis para o cache. | O Redis foi substituído pelo Valkey. | Usamos Redis | Valkey
Nosso wiki fica no Confluence. | O Confluence foi trocado pelo Outline. | no Confluence | Outline
Мы используем Redis для кэша. | Redis заменён на Valkey. | используем Redis | Valkey
Мы используем Jira для задач. | Jira была заменена на Linear. | используем Jira | Linear
我们用Redis做缓存。 | Redis被Valkey取代了。 | 用Redis做 | Valkey
我们用Jira管理任务。 | Jira已经被替换成Linear了。 | 用Jira管理 | Linear
キャッシュにはRedisを使っています。 | RedisはValkeyに置き換えられました。 | Redisを使って | Valkey
タスク管理にはJiraを使っています。 | JiraはLinearに置き換えられた。 | Jiraを使って | Linear
We use Jenkins for CI. | Jenkins has been replaced by Buildkite for CI, hooray | use Jenkins | Buildkite
We use pulsar for events. | pulsar was replaced by nats | pulsar for | nats
Our bundler is webpack. | webpack was replaced by rolldown last month. | is webpack | rolldown
We use Nagios for alerts. | Nagios was replaced by Zabbix in March. | Nagios for | Zabbix
We use docker. | docker was replaced by accident |  | use docker
We use git. | git was replaced by hand |  | use git
We use pulsar for events. | pulsar was replaced by nats in staging |  | pulsar for
Мы используем Pulsar для событий. | Pulsar заменили на Nats. | Pulsar для | Nats
Usamos o Nagios para os alertas. | O Nagios foi substituído pelo Zabbix no mês passado. | Usamos o Nagios | Zabbix
監視はNagiosを使っています。 | Nagiosは今月Zabbixに置き換えられました。 | Nagiosを使って | Zabbix
監視はNagiosを使っています。 | Nagiosは来月Zabbixに置き換えられる予定です。 |  | Nagiosを使って
`);

/** A denial, a plan, a question, a place or an agent in it, or a fact that only mentions the thing: nothing is replaced. */
export const unreplaced: readonly Course[] = coursesIn(`
We use Redis for the cache. | Redis was replaced by mistake. |  | use Redis
We use Redis for the cache. | Redis was replaced by nobody. |  | use Redis
We use Redis for the cache. | Redis was swapped for testing. |  | use Redis
Wir nutzen Redis als Cache. | Redis wurde gegen Mitternacht ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Redis wurde durch Zufall ersetzt. |  | nutzen Redis
Nous utilisons Redis pour le cache. | Redis a été remplacé par erreur. |  | utilisons Redis
Usamos Redis para la caché. | Redis fue reemplazado por la noche. |  | Usamos Redis
Usamos o Redis para o cache. | O Redis foi trocado pela manhã. |  | Usamos o Redis
Мы используем Redis для кэша. | Redis заменили на выходных. |  | используем Redis
We use Redis for the cache. | Redis was not replaced by Valkey. |  | use Redis
We use Redis for the cache. | Redis was never replaced by Valkey. |  | use Redis
We use Redis for the cache. | In the client's project Redis was replaced by Valkey. |  | use Redis
We use Redis for the cache. | Valkey was replaced by Redis. |  | use Redis
We use Redis for the cache. | Was Redis replaced by Valkey? |  | use Redis
We use Redis for the cache. | If Redis was replaced by Valkey, we would save money. |  | use Redis
We use Redis for the cache. | Redis should be replaced by Valkey at some point. |  | use Redis
We use Redis for the cache. | Redis will be replaced by Valkey next year. |  | use Redis
We use Redis for the cache. | Redis was replaced in staging by Valkey. |  | use Redis
We use Redis for the cache. | Redis was replaced by Valkey in staging. |  | use Redis
We use Redis for the cache. | Redis was nearly replaced by Valkey. |  | use Redis
We use Redis for the cache. | Redis was replaced by Valkey for the demo. |  | use Redis
We use Redis for the cache. | The wiki says Redis was replaced by Valkey. |  | use Redis
Nadia leads the data team. | Nadia was replaced by Anna on the guild. |  | Nadia leads
My brother works at Redis. | Redis was replaced by Valkey. |  | brother
We monitor Redis with Grafana. | Redis was replaced by Valkey. |  | Grafana
Redis runs on port 6379. | Redis was replaced by Valkey. |  | 6379
Wir nutzen Redis als Cache. | Redis wurde nicht durch Valkey ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Redis wird nächstes Jahr durch Valkey ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Redis wurde in der Testumgebung durch Valkey ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Redis wurde von Anna ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Redis wurde fast durch Valkey ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Valkey wurde durch Redis ersetzt. |  | nutzen Redis
Wir nutzen Redis als Cache. | Redis soll durch Valkey ersetzt werden. |  | nutzen Redis
Wir nutzen Redis als Cache. | Falls Redis durch Valkey ersetzt wurde, läuft alles. |  | nutzen Redis
Nous utilisons Redis pour le cache. | Redis n'a pas été remplacé par Valkey. |  | utilisons Redis
Nous utilisons Redis pour le cache. | Redis sera remplacé par Valkey. |  | utilisons Redis
Nous utilisons Redis pour le cache. | Redis a été remplacé en recette par Valkey. |  | utilisons Redis
Nous utilisons Redis pour le cache. | Redis a été remplacé par Valkey chez le client. |  | utilisons Redis
Usamos Redis para la caché. | Redis no fue reemplazado por Valkey. |  | Usamos Redis
Usamos Redis para la caché. | ¿Redis fue reemplazado por Valkey? |  | Usamos Redis
Usamos Redis para la caché. | Redis fue reemplazado en pruebas por Valkey. |  | Usamos Redis
Usamos Redis para o cache. | O Redis não foi substituído pelo Valkey. |  | Usamos Redis
Usamos Redis para o cache. | O Redis foi substituído em homologação pelo Valkey. |  | Usamos Redis
Usamos Redis para o cache. | O Redis será substituído pelo Valkey. |  | Usamos Redis
Мы используем Redis для кэша. | Redis не был заменён на Valkey. |  | используем Redis
Мы используем Redis для кэша. | Redis не заменён на Valkey. |  | используем Redis
Мы используем Redis для кэша. | Redis был заменён на тестовом сервере. |  | используем Redis
Мы используем Redis для кэша. | Redis будет заменён на Valkey. |  | используем Redis
Мы используем Redis для кэша. | Redis был заменён Анной на выходных. |  | используем Redis
Мы используем Redis для кэша. | Valkey заменён на Redis. |  | используем Redis
我们用Redis做缓存。 | Redis没有被Valkey取代。 |  | 用Redis做
我们用Redis做缓存。 | Valkey被Redis取代了。 |  | 用Redis做
我们用Redis做缓存。 | Valkey是Redis的替代品。 |  | 用Redis做
我们用Redis做缓存。 | 我们买了Redis服务器的替换件。 |  | 用Redis做
我们用Redis做缓存。 | Redis将被Valkey取代。 |  | 用Redis做
我们用Redis做缓存。 | Redis在测试环境被Valkey取代了。 |  | 用Redis做
我们用Redis做缓存。 | Redis快被Valkey取代了。 |  | 用Redis做
キャッシュにはRedisを使っています。 | RedisはValkeyに置き換えられていません。 |  | Redisを使って
キャッシュにはRedisを使っています。 | ValkeyはRedisに置き換えられました。 |  | Redisを使って
キャッシュにはRedisを使っています。 | RedisはValkeyに置き換えられる予定です。 |  | Redisを使って
キャッシュにはRedisを使っています。 | 検証環境ではRedisはValkeyに置き換えられました。 |  | Redisを使って
I work at Fernhill. | Fernhill was replaced by Northgate on the list. |  | work at Fernhill
Our daughter is Nadia. | Nadia was replaced by Femi. |  | daughter is Nadia
My dentist is Dr. Cole. | Dr. Cole was replaced by Dr. Ames in the series. |  | dentist
Our client uses Redis. | Redis was replaced by Valkey. |  | client uses Redis
Acme runs on Redis. | Redis was replaced by Valkey. |  | Acme
We use Redis for the cache.;;We use Redis for the sessions. | Redis was replaced by Valkey. |  | cache;;sessions
We use Redis Sentinel for failover. | Redis was replaced by Valkey. |  | Sentinel
Our backup server is called heron. | The server was replaced by Otto. |  | heron
We keep the tickets in Jira. | Maybe Jira was replaced by Linear. |  | Jira
We keep the tickets in Jira. | Jira was almost replaced by Linear last year. |  | in Jira
We keep the tickets in Jira. | Jira was replaced by Linear two years ago and then brought back. |  | in Jira
We keep the tickets in Jira. | I dreamt that Jira was replaced by Linear. |  | in Jira
We keep the tickets in Jira. | Is Jira replaced by Linear now? |  | in Jira
We keep the tickets in Jira. | When Jira is replaced by Linear we move the boards. |  | in Jira
We keep the tickets in Jira. | Jira is to be replaced by Linear. |  | in Jira
We keep the tickets in Jira. | Jira is being replaced by Linear. |  | in Jira
Wir nutzen Jira für Tickets. | Jira ist noch nicht durch Linear ersetzt. |  | Jira für
Wir nutzen Jira für Tickets. | Jira wurde beim Kunden durch Linear ersetzt. |  | Jira für
Wir nutzen Jira für Tickets. | Jira wurde durch Linear ersetzt, aber nur im Testteam. |  | Jira für
Usamos Jira para as tarefas. | O Jira quase foi substituído pelo Linear. |  | Usamos Jira
Usamos Jira para as tarefas. | O Jira deve ser substituído pelo Linear. |  | Usamos Jira
Usamos Jira para las tareas. | Jira debería ser reemplazado por Linear. |  | Usamos Jira
Мы используем Jira для задач. | Jira должна быть заменена на Linear. |  | используем Jira
Мы используем Jira для задач. | Если Jira заменена на Linear, скажи мне. |  | используем Jira
我们用Jira管理任务。 | Jira会被Linear取代吗？ |  | 用Jira
我们用Jira管理任务。 | Jira应该被Linear取代。 |  | 用Jira
我们用Jira管理任务。 | Jira还没被替换成Linear。 |  | 用Jira
タスク管理にはJiraを使っています。 | JiraはLinearに置き換えられるべきです。 |  | Jiraを使って
タスク管理にはJiraを使っています。 | JiraはまだLinearに置き換えられていない。 |  | Jiraを使って
タスク管理にはJiraを使っています。 | もしJiraがLinearに置き換えられたら教えて。 |  | Jiraを使って
We use Jenkins for CI. | Jenkins has been replaced by Buildkite for releases. |  | use Jenkins
`);

/** One verb for two things: of the second only the fact with the same subject and a value of the same kind is replaced. */
export const parallels: readonly Course[] = coursesIn(`
Our database is MySQL.;;Our cache is Redis. | The db is now Postgres and the cache Valkey. | MySQL;;is Redis | Postgres;;Valkey
The API port is 8080.;;The admin port is 9090. | The API port is now 8181 and the admin port 9191. | 8080;;9090 | 8181;;9191
The standup is at 9:30.;;The retro is on Friday. | The standup is now at 10:15 and the retro on Thursday. | 9:30;;Friday | 10:15;;Thursday
Unsere Datenbank ist MySQL.;;Unser Cache ist Redis. | Die Datenbank ist jetzt Postgres und der Cache Valkey. | MySQL;;ist Redis | Postgres;;Valkey
Notre base est MySQL.;;Notre cache est Redis. | La base est maintenant Postgres et le cache Valkey. | MySQL;;est Redis | Postgres;;Valkey
Nuestra base de datos es MySQL.;;Nuestra caché es Redis. | La base de datos ahora es Postgres y la caché Valkey. | MySQL;;es Redis | Postgres;;Valkey
Nosso banco é MySQL.;;Nosso cache é Redis. | O banco agora é Postgres e o cache Valkey. | MySQL;;é Redis | Postgres;;Valkey
我们的数据库是MySQL。;;我们的缓存是Redis。 | 数据库现在是Postgres，缓存是Valkey。 | MySQL;;Redis | Postgres;;Valkey
Our database is MySQL.;;Our cache is Redis. | The db is now Postgres and the queue RabbitMQ. | MySQL | is Redis;;Postgres
Our database is MySQL.;;Our cache is Redis. | The database is now Postgres and everybody is happy. | MySQL | is Redis;;Postgres
Our database is MySQL.;;Our cache is Redis. | Their database is now Postgres and the cache Valkey. |  | is Redis
Our database is MySQL.;;Our cache is Redis. | The db is now Postgres and the cache Valkey in staging. |  | is Redis
The standup is at 9:30.;;The retro is on Friday. | The standup is now at 10:15 and the demo on Thursday. | 9:30 | 10:15;;retro is on Friday
Our database is MySQL.;;Our cache is Redis. | Maybe the db is now Postgres and the cache Valkey. |  | MySQL;;is Redis
Our database is MySQL.;;Our cache is Redis. | Is the db now Postgres and the cache Valkey? |  | MySQL;;is Redis
Our database is MySQL.;;Our cache is Redis. | If the db is now Postgres and the cache Valkey, tell me. |  | MySQL;;is Redis
Our database is MySQL.;;Our cache is Redis. | The db is not Postgres now and the cache not Valkey. |  | is Redis
Our database is MySQL.;;Our cache key is Redis. | The db is now Postgres and the cache Valkey. |  | cache key
Our database is MySQL.;;Our cache is in Berlin. | The db is now Postgres and the cache Valkey. | MySQL | in Berlin
Our database is MySQL.;;Our cache is Redis. | The db is now Postgres and the cache Anna's. |  | is Redis
Our database is MySQL.;;Our cache is Redis. | The db is now Postgres and the cache empty. |  | is Redis
Unsere Datenbank ist MySQL.;;Unser Cache ist Redis. | Die Datenbank ist jetzt Postgres und der Cache leer. |  | ist Redis
Unsere Datenbank ist MySQL.;;Unser Cache ist Redis. | Die Datenbank wird bald Postgres und der Cache Valkey. |  | ist Redis
Notre base est MySQL.;;Notre cache est Redis. | La base est maintenant Postgres et la file RabbitMQ. |  | est Redis
Our database is MySQL.;;Our cache is Redis. | The db is now Postgres and the old cache Valkey. |  | is Redis
The API port is 8080.;;The admin port is 9090. | The API port is now 8181 and the admin team 12. |  | 9090
我们的数据库是MySQL。;;我们的缓存是Redis。 | 测试环境的数据库现在是Postgres，缓存是Valkey。 |  | 缓存是Redis
我们的数据库是MySQL。;;我们的缓存是Redis。 | 他们的数据库现在是Postgres，缓存是Valkey。 |  | 缓存是Redis
我们的端口是8080。;;我们的队列是Kafka。 | 端口现在是9090，队列是Pulsar。 | 8080;;Kafka | 9090;;Pulsar
Our linter is Eslint.;;Our bundler is Webpack. | Our linter is now Biome and our bundler Vite. | Eslint;;Webpack | Biome;;Vite
Our linter is Eslint.;;Our bundler is Webpack. | Our linter is now Biome and our mascot Vite. | Eslint | Webpack
Our linter is Eslint.;;Our bundler is Webpack. | Our linter was now and then Biome and the bundler Vite. |  | Webpack
Our linter is Eslint.;;Our bundler is not Webpack. | Our linter is now Biome and the bundler Vite. | Eslint | not Webpack
The standup is at 9:30.;;The retro is in Berlin. | The standup is now at 10:15 and the retro on Thursday. | 9:30 | Berlin
Unser Port ist 8080.;;Unser Team ist in Köln. | Unser Port ist jetzt 9090 und das Team Blau. | 8080 | Köln
`);

/** What somebody else changed, and what did not change, replaces nothing of the user's. */
export const others: readonly Course[] = coursesIn(`
I work at Fernhill. | My neighbour no longer works at Fernhill, he is at Oakbridge now. |  | I work at
Our linter is Eslint. | We haven't switched the linter to Biome, that was just an idea. |  | Eslint
Our repo uses npm. | We did not switch the repo to pnpm, that was just an idea. |  | npm
My brother lives in Ghent. | I no longer live in Ghent. |  | brother
I live in Hamburg. | My wife and I moved to Bremen. | Hamburg | Bremen
I visit my brother on Mondays. | I visit my brother on Fridays now. | Mondays | Fridays
Max leads the data team. | My colleague Ines now leads the data team. | Max | Ines
Ich arbeite bei Sandkrug. | Meine Nachbarin arbeitet nicht mehr bei Sandkrug. |  | Ich arbeite
Mein Zahnarzt ist Dr. Wolf. | Der Zahnarzt meines Vaters ist jetzt Dr. Ahlers. |  | Wolf
J'habite à Lille. | Mon frère n'habite plus à Lille. |  | J'habite
Ma coiffeuse est Odile. | La coiffeuse de ma mère est maintenant Solange. |  | Odile
Mi abogado es Lamas. | El abogado de mi tía ahora es Robles. |  | Lamas
Trabajo en Granja Sur. | Mi vecino ya no trabaja en Granja Sur, ahora está en Marina. |  | Trabajo
Moro em Faro. | Meu irmão não mora mais em Faro, agora está em Braga. |  | Moro em Faro
Meu médico é o doutor Lobo. | O médico do meu tio agora é o doutor Reis. |  | Lobo
Я работаю в Сосновке. | Мой брат больше не работает в Сосновке, он теперь в Берёзовке. |  | Я работаю
Срок основного проекта — 5 мая. | Срок учебного проекта теперь 9 мая. |  | основного
Срок основного проекта — 5 мая. | Срок основного проекта теперь 9 мая. | 5 мая | 9 мая
我住在苏州。 | 我哥哥不住在苏州了，他现在住在宁波。 |  | 我住在苏州
私は神戸に住んでいます。 | 兄は神戸から奈良に引っ越しました。 |  | 私は神戸
I was born in Bergen. | I moved from Bergen to Tromsø. |  | born in Bergen;;Tromsø
I grew up in Bergen. | We moved from Bergen to Tromsø last month. |  | grew up;;Tromsø
I met my wife in Bergen. | I moved from Bergen to Tromsø. |  | met my wife
I live in Bergen. | I moved from Bergen to Tromsø. | live in Bergen | Tromsø
I was born in Bergen. | Sorry, I was born in Tromsø, not in Bergen. | ^I was born in Bergen | Tromsø
私は神戸で生まれました。 | 神戸から奈良に引っ越しました。 |  | 生まれ;;奈良
`);

/** A Japanese rule is lifted by a permission of the same, in whatever form of its verb, and by no other. */
export const lifted: readonly Course[] = coursesIn(`
今後は略語を使うのをやめて。 | 略語を使ってもいいです。 | やめて | 使ってもいい
今後は敬語で返事を書くのはやめてください。 | 敬語で返事を書いても構いません。 | やめて | 構いません
今後は月曜日にデプロイしないでください。 | 月曜日にデプロイしても大丈夫です。 | しないで | 大丈夫
今後は敬語で返事を書くのはやめてください。 | 箇条書きで返事を書いてもいいです。 |  | やめて
今後は月曜日にデプロイしないでください。 | 木曜日にデプロイしても大丈夫です。 |  | しないで
今後は略語を使うのをやめて。 | 略語を使ってもいいとは言っていません。 |  | やめて
今後は略語を使うのをやめて。 | 略語を使ってもいいですか？ |  | やめて
`);

/** A mistake put right in the same session: only the right value stays. */
export const mistaken: readonly Course[] = coursesIn(`
Meine Mitgliedsnummer ist 60427. | Moment, falsch: meine Mitgliedsnummer ist 60472. | 60427 | 60472
Unser Raum ist die 204. | Falsch, der Port der Datenbank ist 240. |  | 204
Minha matrícula é 60427. | Errei: minha matrícula é 60472. | 60427 | 60472
Номер моей комнаты — 312. | Ой, ошибся, номер моей комнаты — 321. | 312 | 321
我的座位号是 312。 | 说错了，我的座位号是 321。 | 312 | 321
`);

/** A reason behind a request to forget is not kept; a fact behind it is, whatever its words. */
export const behind: readonly Course[] = coursesIn(String.raw`
My salary is 54,000. | Forget my salary. It's nobody's business. | 54,000;;business
My salary is 54,000. | Forget my salary. My private email is ines@mail.example. | 54,000 | ines@mail
My salary is 54,000. | Forget my salary. Our private repo is hosted on Gitea. | 54,000 | Gitea
Mein Gehalt ist 61.000 Euro. | Vergiss mein Gehalt. Das geht niemanden etwas an. | 61\.000;;niemanden | 
Mon salaire est de 2900 euros. | Oublie mon salaire. Ça ne regarde personne. | 2900;;regarde | 
Моя зарплата 90000 рублей. | Забудь мою зарплату. Это никого не касается. | 90000;;касается | 
My salary is 54,000. | Forget my salary. This private note is for you: our linter is Biome. | 54,000 | 
私の給料は40万円です。 | 私の給料は忘れて。プライベートなことです。 | 40万 | 
我的工资是两万。 | 忘掉我的工资。这是隐私。 | 两万;;隐私 | 
Mi sueldo es de 2.100 euros. | Olvida mi sueldo. No le importa a nadie. | 2\.100;;importa | 
My salary is 54,000. | Forget my salary. It's private property where we park, and our lot is 7. | 54,000 | lot is 7
Mein Gehalt ist 61.000 Euro. | Vergiss mein Gehalt. Unser privates Repo liegt auf Gitea. | 61\.000 | Gitea
`);

/** Statements, a question, and what the first recalled line says; without it nothing may be recalled. */
export const questions: readonly Course[] = coursesIn(`
My name is Ines and I'm a nurse.;;We deploy on Tuesdays. | Who am I? | Ines
I'm Ines, a nurse from Porto.;;We deploy on Tuesdays. | who am i | Ines
Ich heiße Ines.;;Wir deployen dienstags. | Wer bin ich? | Ines
Je m'appelle Ines.;;Nous déployons le mardi. | Qui suis-je ? | Ines
Me llamo Ines.;;Desplegamos los martes. | ¿Quién soy? | Ines
Meu nome é Ines.;;Usamos o Docker no projeto. | Quem sou eu? | Ines
Меня зовут Инес.;;Наш порт 5432. | Кто я? | Инес
我叫小林。;;我们用Docker部署。 | 我是谁？ | 小林
私の名前は由紀です。;;私たちはDockerを使っています。 | 私は誰ですか？ | 由紀
My name is Ines and I'm a nurse. | Who am I talking to? | 
My name is Ines. | Who is on call today? | 
We deploy on Tuesdays. | Who am I? | 
My cat's name is Biscuit. | Who am I? | 
I'm planning to quit my job at Fernhill. | Who am I? | 
`);
