/** The head and tail that stand for a text which was moved out of an event. */

const PREVIEW_CHARACTERS = 1024;

/** The first and the last {@link PREVIEW_CHARACTERS} characters, never cut inside a surrogate pair. */
export function previewOf(text: string): { head: string; tail: string } {
  const headEnd = PREVIEW_CHARACTERS - (isHighSurrogate(text, PREVIEW_CHARACTERS - 1) ? 1 : 0);
  const from = Math.max(headEnd, text.length - PREVIEW_CHARACTERS);
  return {
    head: text.slice(0, headEnd),
    tail: text.slice(from + (isHighSurrogate(text, from - 1) ? 1 : 0)),
  };
}

function isHighSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code <= 0xdbff;
}
