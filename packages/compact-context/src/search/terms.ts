/** The terms of an index: words as they are, ids behind a sign that no word begins with. All ASCII without blanks. */
export function wordTerm(word: string): string {
  return escaped(word);
}

export function archiveIdTerm(id: string): string {
  return `@${escaped(id)}`;
}

/** The id that the message had itself. */
export function ownIdTerm(id: string): string {
  return `=${escaped(id)}`;
}

const PLAIN = /^[!-$&-~]*$/;
const ODD = /[^!-$&-~]/g;

// A string of ASCII alone takes half the memory of one with any other character in it.
function escaped(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(ODD, (character) => `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
