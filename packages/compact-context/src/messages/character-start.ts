/** The offset, or the one before it where it would split a surrogate pair. */
export function characterStart(text: string, offset: number): number {
  const code = text.charCodeAt(offset);
  return code >= 0xdc00 && code <= 0xdfff ? offset - 1 : offset;
}
