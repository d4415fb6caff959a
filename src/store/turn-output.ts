/** The output of a turn, put together from the parts of its last message, some of which may stand in the blob store. */
import type { BlobBlock } from '../contract/content.js';
import type { OpenTurn } from '../core/session-state.js';
import { textOfBlob } from './large-content.js';
import type { LogTransaction } from './session-store.js';

type ReadBlob = LogTransaction['readBlob'];

/** As `turn/end` takes it: one part is left as it is, several are read back; the append moves their sum again. */
export async function turnOutput(turn: OpenTurn, readBlob: ReadBlob): Promise<string | BlobBlock | null> {
  const [first, ...rest] = turn.output;
  if (first === undefined) return null;
  if (rest.length === 0) return first;
  return wholeOutput(turn, readBlob);
}

/** The text of the turn's last assistant message, with the parts that were moved to the blob store. */
export async function wholeOutput(turn: OpenTurn, readBlob: ReadBlob): Promise<string> {
  const texts = await Promise.all(
    turn.output.map(async (part) => {
      if (typeof part === 'string') return part;
      const blob = await readBlob(part.sha256);
      return blob === undefined ? part.head : textOfBlob(blob.bytes);
    }),
  );
  return texts.join('');
}
