import { expect, it } from "vitest";
import { englishStem } from "./words.ts";

/** Word and stem, as the published algorithm gives them. */
it.each(
  `consign:consign consigned:consign consigning:consign consignment:consign consist:consist consistency:consist
  consistently:consist consolation:consol consolatory:consolatori knackeries:knackeri knavish:knavish kneel:kneel
  knightly:knight deploy:deploy deployments:deploy deployed:deploy generate:generat general:general communism:communism
  hopping:hop hoped:hope agreed:agre cries:cri cry:cri by:by say:say ties:tie gas:gas this:this gaps:gap kiwis:kiwi
  skies:sky dying:die inning:inning proceed:proceed luxuriated:luxuri exceedingly:exceed relational:relat happily:happili
  beautiful:beauti biologically:biolog nationalization:nation`
    .split(/\s+/)
    .map((pair) => pair.split(":")),
)("%s → %s", (word = "", stem = "") => {
  expect(englishStem(word)).toBe(stem);
});
