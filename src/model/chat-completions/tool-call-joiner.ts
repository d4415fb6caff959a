/**
 * Which call a fragment of `delta.tool_calls` belongs to.
 *
 * Owns the tolerance for what providers do: ids and names that come once, again, empty or late, fragments of several
 * calls that alternate, an `index` that is missing, and one `index` for all calls.
 */
import type { BlockWriter } from '../block-writer.js';

export interface ToolCallFragment {
  readonly index?: number | null | undefined;
  readonly id?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly arguments: string;
}

interface OpenCall {
  readonly block: number;
  id: string;
  name: string;
  argumentText: string;
}

export class ToolCallJoiner {
  readonly #writer: BlockWriter;
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** Whether every call has a name; without one it can be neither run nor sent back. */
  get allNamed(): boolean {
    return this.#calls.every(({ name }) => name !== '');
  }

  add(fragment: ToolCallFragment): void {
    const id = fragment.id ?? '';
    const name = fragment.name ?? '';
    const call = this.#callOf(fragment.index ?? undefined, id, name);
    // The first id and name of a call stand; later ones repeat them.
    const callId = call.id === '' && id !== '' ? id : undefined;
    const callName = call.name === '' && name !== '' ? name : undefined;
    call.id = callId ?? call.id;
    call.name = callName ?? call.name;
    call.argumentText += fragment.arguments;
    this.#writer.call(call.block, {
      ...(callId === undefined ? {} : { callId }),
      ...(callName === undefined ? {} : { name: callName }),
      argumentsDelta: fragment.arguments,
    });
  }

  #callOf(index: number | undefined, id: string, name: string): OpenCall {
    const known = index === undefined ? this.#callWithoutIndex(id, name) : this.#byIndex.get(index);
    const isAnother =
      known !== undefined && id !== '' && known.id !== '' && known.id !== id && name !== '' && isWhole(known);
    if (known !== undefined && !isAnother) return known;
    const call = { block: this.#writer.open('tool-call'), id: '', name: '', argumentText: '' };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #callWithoutIndex(id: string, name: string): OpenCall | undefined {
    if (id !== '') return this.#calls.find((call) => call.id === id);
    const last = this.#calls.at(-1);
    // A name that comes after whole arguments begins the next call; any other fragment goes on with the last one.
    return last !== undefined && name !== '' && isWhole(last) && last.argumentText !== '' ? undefined : last;
  }
}

function isWhole({ argumentText }: OpenCall): boolean {
  if (argumentText === '') return true;
  try {
    JSON.parse(argumentText);
    return true;
  } catch {
    return false;
  }
}
